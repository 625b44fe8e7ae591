import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { type FrontProxySettings, userFromFrontProxy } from '../../../src/query/front-proxy.ts';

const settings: FrontProxySettings = {
  caPem: 'a certificate',
  allowedNames: ['front-proxy-client'],
  usernameHeaders: ['X-Remote-User'],
  uidHeaders: ['X-Remote-Uid'],
  groupHeaders: ['X-Remote-Group'],
  extraHeaderPrefixes: ['X-Remote-Extra-'],
};

const headers = {
  'x-remote-user': ['alice'],
  'x-remote-uid': ['u1'],
  'x-remote-group': ['team-a', 'system:authenticated'],
  'x-remote-extra-example.com%2fscope': ['read', 'write'],
};

function socket(authorized: boolean, commonName: string | readonly string[] = 'front-proxy-client'): TLSSocket {
  return { authorized, getPeerCertificate: () => ({ subject: { CN: commonName } }) } as unknown as TLSSocket;
}

describe('a user passed on by the API server', () => {
  it('is who the headers say', () => {
    assert.deepEqual(userFromFrontProxy(socket(true), headers, settings), {
      name: 'alice',
      uid: 'u1',
      groups: ['team-a', 'system:authenticated'],
      extra: { 'example.com/scope': ['read', 'write'] },
    });
  });

  it('is not accepted without a certificate of the authority', () => {
    assert.equal(userFromFrontProxy(socket(false), headers, settings), undefined);
  });

  it('is not accepted where the certificate has another name', () => {
    assert.equal(userFromFrontProxy(socket(true, 'another-name'), headers, settings), undefined);
    assert.equal(userFromFrontProxy(socket(true, ['front-proxy-client', 'x']), headers, settings), undefined);
  });

  it('may come by any name of the authority where none is listed', () => {
    const user = userFromFrontProxy(socket(true, 'another-name'), headers, { ...settings, allowedNames: [] });
    assert.equal(user?.name, 'alice');
  });

  it('is not accepted without a user name', () => {
    assert.equal(userFromFrontProxy(socket(true), {}, settings), undefined);
  });

  it('keeps a group whole that has a comma in its name', () => {
    const group = { 'x-remote-user': ['eve'], 'x-remote-group': ['a, system:masters'] };
    assert.deepEqual(userFromFrontProxy(socket(true), group, settings)?.groups, ['a, system:masters']);
  });
});
