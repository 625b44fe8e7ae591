import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createAuthority } from '../../../hack/local/certificates.ts';
import { loadKeyPair } from '../../../webhooks/certificate.ts';

const directory = mkdtempSync(join(tmpdir(), 'certificate-'));
after(() => rmSync(directory, { recursive: true }));

const authority = await createAuthority('test-ca');
const [one, other] = await Promise.all([
  authority.issue({ commonName: 'one', hosts: ['127.0.0.1'] }),
  authority.issue({ commonName: 'other', hosts: ['127.0.0.1'] }),
]);

function write(cert: string | undefined, key: string | undefined): string {
  const folder = mkdtempSync(join(directory, 'pair-'));
  if (cert !== undefined) writeFileSync(join(folder, 'tls.crt'), cert);
  if (key !== undefined) writeFileSync(join(folder, 'tls.key'), key);
  return folder;
}

describe('loadKeyPair', () => {
  it('reads a certificate, its key and when it expires', () => {
    const { cert, key, notAfter } = loadKeyPair(write(one.certificatePem, one.keyPem));
    assert.deepEqual({ cert, key }, { cert: one.certificatePem, key: one.keyPem });
    assert.ok(notAfter > new Date());
  });

  it('refuses a certificate and the key of another, and says so', () => {
    assert.throws(() => loadKeyPair(write(one.certificatePem, other.keyPem)), /do not belong together/);
  });

  it('names the file that is missing and the setting', () => {
    assert.throws(() => loadKeyPair(write(undefined, one.keyPem)), /tls\.crt.*server\.certDir/);
    assert.throws(() => loadKeyPair(write(one.certificatePem, undefined)), /tls\.key.*server\.certDir/);
  });

  it('refuses text that is not PEM without repeating it', () => {
    assert.throws(
      () => loadKeyPair(write(one.certificatePem, 's3cr3t')),
      (error: Error) => {
        assert.match(error.message, /not valid PEM/);
        assert.doesNotMatch(error.message, /s3cr3t/);
        return true;
      },
    );
  });
});
