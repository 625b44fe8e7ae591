import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Authority, createAuthority } from '../../../hack/local/certificates.ts';
import { kubeconfigText } from '../../../hack/local/kubeconfig.ts';
import { KubeconfigError } from '../../../src/kube/errors.ts';
import { CredentialSource } from '../../../src/kube/http/credentials.ts';
import { type LoginData, openLogin } from '../../../src/kube/http/login.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const url = 'https://127.0.0.1:6443';
let folder = '';
let authority: Authority;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'login-'));
  authority = await createAuthority('test');
});
after(() => rmSync(folder, { recursive: true }));

const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const nothing = (): { env: Record<string, string>; serviceAccountFolder: string } => ({
  env: {},
  serviceAccountFolder: join(folder, 'none'),
});
const entry = (user: object, cluster: object = { server: url }): string =>
  JSON.stringify({
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
const read = (text: string): Promise<LoginData> =>
  openLogin({ kubeconfig: file('read.kubeconfig', text), context: '', surroundings: nothing() }).read();

describe('logging in with a kubeconfig', () => {
  it('reads certificates and tokens that are written in the file', async () => {
    const certificate = await authority.issue({ commonName: 'admin' });
    const user = { name: 'admin', certificate };
    const { tls } = await read(kubeconfigText({ url, caPem: authority.caPem, user }));
    assert.deepEqual(tls, { ca: authority.caPem, cert: certificate.certificatePem, key: certificate.keyPem });
    assert.deepEqual((await read(entry({ token: 'abc' }))).headers, { authorization: 'Bearer abc' });
    const basic = await read(entry({ username: 'me', password: 'pass' }));
    assert.deepEqual(basic.headers, { authorization: `Basic ${Buffer.from('me:pass').toString('base64')}` });
  });

  it('finds files beside the kubeconfig, and reads a token file again each time', async () => {
    file('ca.pem', 'the authority');
    file('token', 'first\n');
    const path = file(
      'files.kubeconfig',
      entry({ tokenFile: 'token' }, { server: `${url}/`, 'certificate-authority': 'ca.pem' }),
    );
    const login = openLogin({ kubeconfig: path, context: '', surroundings: nothing() });
    assert.equal(login.server, url);
    assert.deepEqual(await login.read(), { tls: { ca: 'the authority' }, headers: { authorization: 'Bearer first' } });
    file('token', 'second');
    assert.deepEqual((await login.read()).headers, { authorization: 'Bearer second' });
  });

  it('reads the kubeconfig itself again each time', async () => {
    const path = file('replaced.kubeconfig', entry({ token: 'first' }));
    const login = openLogin({ kubeconfig: path, context: '', surroundings: nothing() });
    file('replaced.kubeconfig', entry({ token: 'second' }));
    assert.deepEqual((await login.read()).headers, { authorization: 'Bearer second' });
  });

  it('acts as the user that is asked for, in place of the one that the kubeconfig names', async () => {
    const path = file('as.kubeconfig', entry({ token: 'abc', as: 'bob', 'as-uid': '7', 'as-groups': ['c'] }));
    const headersAs = async (as?: { readonly user: string; readonly groups: readonly string[] }) =>
      (
        await openLogin({
          kubeconfig: path,
          context: '',
          surroundings: nothing(),
          ...(as === undefined ? {} : { as }),
        }).read()
      ).headers;
    assert.deepEqual(await headersAs(), {
      authorization: 'Bearer abc',
      'impersonate-user': 'bob',
      'impersonate-uid': '7',
      'impersonate-group': ['c'],
    });
    assert.deepEqual(await headersAs({ user: 'ada', groups: ['a', 'b'] }), {
      authorization: 'Bearer abc',
      'impersonate-user': 'ada',
      'impersonate-group': ['a', 'b'],
    });
    assert.deepEqual(await headersAs({ user: 'ada', groups: [] }), {
      authorization: 'Bearer abc',
      'impersonate-user': 'ada',
      'impersonate-group': [],
    });
  });

  it('verifies the server as the kubeconfig says', async () => {
    const { tls } = await read(entry({}, { server: url, 'tls-server-name': 'api', 'insecure-skip-tls-verify': true }));
    assert.deepEqual(tls, { servername: 'api', rejectUnauthorized: false });
  });

  it('acts as the user, uid and groups that the kubeconfig names', async () => {
    const { headers } = await read(entry({ token: 't', as: 'alice', 'as-uid': '7', 'as-groups': ['a', 'b'] }));
    assert.deepEqual(headers, {
      authorization: 'Bearer t',
      'impersonate-user': 'alice',
      'impersonate-uid': '7',
      'impersonate-group': ['a', 'b'],
    });
  });

  it('merges the files of KUBECONFIG as kubectl does, and passes over missing files', async () => {
    const first = JSON.stringify({ users: [{ name: 'u', user: { token: 'of the first' } }] });
    const paths = [
      join(folder, 'missing'),
      file('1.kubeconfig', first),
      file('2.kubeconfig', entry({ token: 'late' })),
    ];
    const surroundings = { ...nothing(), env: { KUBECONFIG: paths.join(':') } };
    const login = openLogin({ kubeconfig: '', context: '', surroundings });
    assert.deepEqual((await login.read()).headers, { authorization: 'Bearer of the first' });
  });

  it('runs an exec plugin, and asks it again only when its token has expired', async () => {
    const count = join(folder, 'runs');
    const status = { token: 'from the plugin', expirationTimestamp: '2999-01-01T00:00:00Z' };
    const credential = JSON.stringify({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status,
    });
    const args = ['-c', `echo run >> ${count}; echo '${credential}'`];
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', args };
    const path = file('exec.kubeconfig', entry({ exec }));
    const login = openLogin({ kubeconfig: path, context: '', surroundings: nothing() });
    for (let call = 0; call < 2; call += 1) {
      assert.equal((await login.read()).headers['authorization'], 'Bearer from the plugin');
    }
    assert.equal(readFileSync(count, 'utf8'), 'run\n');
  });

  const wrong: readonly { what: string; text: () => string; context?: string; message: RegExp }[] = [
    { what: 'no YAML', text: () => 'users:\n  - token: secret\n - x', message: /not valid YAML at line 3/ },
    { what: 'no map', text: () => '[]', message: /is not a kubeconfig/ },
    { what: 'no current context', text: () => '{}', message: /no current-context/ },
    { what: 'an unknown context', text: () => entry({}), context: 'y', message: /no context "y"; there is "x"/ },
    {
      what: 'several things',
      text: () =>
        JSON.stringify({
          contexts: [{ name: 'x', context: { cluster: 'c', user: 'missing' } }],
          clusters: [{ name: 'c', cluster: { server: 'nowhere', 'proxy-url': 'http://proxy' } }],
          'current-context': 'x',
        }),
      message: /"nowhere" is no URL of a server; proxy-url is not supported; no user "missing"/,
    },
  ];
  for (const { what, text, context = '', message } of wrong) {
    it(`says what is wrong with ${what}, and no secret`, () => {
      const open = (): unknown => openLogin({ kubeconfig: file('wrong', text()), context, surroundings: nothing() });
      assert.throws(open, (error) => {
        assert.ok(error instanceof KubeconfigError);
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      });
    });
  }

  it('says what to do where there is nothing to log in with', () => {
    const open = (kubeconfig: string) => (): unknown => openLogin({ kubeconfig, context: '', surroundings: nothing() });
    assert.throws(open(''), /neither a kubeconfig nor a service account.*run in a pod/);
    assert.throws(open('/does/not/exist'), /cannot read \/does\/not\/exist/);
  });
});

describe('logging in from a pod', () => {
  const pod = (env: Record<string, string>): { env: Record<string, string>; serviceAccountFolder: string } => {
    const serviceAccountFolder = join(folder, 'serviceaccount');
    mkdirSync(serviceAccountFolder, { recursive: true });
    writeFileSync(join(serviceAccountFolder, 'token'), 'of the pod\n');
    writeFileSync(join(serviceAccountFolder, 'ca.crt'), authority.caPem);
    return { env, serviceAccountFolder };
  };
  const address = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };

  it('uses the service account, and reads its token again each time', async () => {
    const surroundings = pod(address);
    const login = openLogin({ kubeconfig: '', context: '', surroundings });
    assert.equal(login.server, 'https://10.0.0.1:443');
    const ca = authority.caPem;
    assert.deepEqual(await login.read(), { tls: { ca }, headers: { authorization: 'Bearer of the pod' } });
    writeFileSync(join(surroundings.serviceAccountFolder, 'token'), 'rotated\n');
    assert.deepEqual((await login.read()).headers, { authorization: 'Bearer rotated' });
  });

  it('writes IPv6 addresses as URLs do', () => {
    const surroundings = pod({ ...address, KUBERNETES_SERVICE_HOST: 'fd00::1' });
    assert.equal(openLogin({ kubeconfig: '', context: '', surroundings }).server, 'https://[fd00::1]:443');
  });

  it('names the missing variable in a pod without the address of the API server', () => {
    assert.throws(() => openLogin({ kubeconfig: '', context: '', surroundings: pod({}) }), /KUBERNETES_SERVICE_HOST/);
  });

  it('prefers a kubeconfig that it is given', () => {
    const surroundings = pod({ ...address, KUBECONFIG: file('given.kubeconfig', entry({ token: 't' })) });
    assert.equal(openLogin({ kubeconfig: '', context: '', surroundings }).server, url);
  });
});

describe('CredentialSource', () => {
  /** A login whose answers are taken from a list, the last one for ever. */
  function source(answers: (LoginData | Error)[]): {
    credentials: CredentialSource;
    clock: FakeClock;
    reads: () => number;
  } {
    const clock = new FakeClock();
    let reads = 0;
    const login = {
      namespace: 'default',
      origin: 'a test',
      server: url,
      read: (): Promise<LoginData> => {
        const answer = answers[Math.min(reads, answers.length - 1)];
        reads += 1;
        assert.ok(answer !== undefined);
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      },
    };
    return { credentials: new CredentialSource(login, clock), clock, reads: () => reads };
  }
  const withToken = (token: string): LoginData => ({ tls: {}, headers: { authorization: token } });
  const tokenOf = async (credentials: CredentialSource): Promise<unknown> =>
    (await credentials.get()).headers['authorization'];

  it('reads its files again after half a minute', async () => {
    const { credentials, clock, reads } = source([withToken('a'), withToken('b')]);
    assert.deepEqual([await tokenOf(credentials), await tokenOf(credentials), reads()], ['a', 'a', 1]);
    await clock.advance(30_001);
    assert.equal(await tokenOf(credentials), 'b');
  });

  it('reads its files again at once after a refusal, and then fails where it cannot read them', async () => {
    const { credentials } = source([withToken('a'), withToken('b'), new KubeconfigError('gone')]);
    await credentials.get();
    credentials.expire();
    assert.equal(await tokenOf(credentials), 'b');
    credentials.expire();
    await assert.rejects(credentials.get(), /gone/);
  });

  it('keeps the credentials it has while the files cannot be read, and looks again after a second', async () => {
    const { credentials, clock, reads } = source([withToken('a'), new KubeconfigError('gone'), withToken('b')]);
    await credentials.get();
    await clock.advance(30_001);
    assert.deepEqual([await tokenOf(credentials), await tokenOf(credentials), reads()], ['a', 'a', 2]);
    await clock.advance(1001);
    assert.equal(await tokenOf(credentials), 'b');
  });

  it('tries again after a first failure', async () => {
    const { credentials } = source([new KubeconfigError('not yet'), withToken('a')]);
    await assert.rejects(credentials.get(), /not yet/);
    assert.equal(await tokenOf(credentials), 'a');
  });

  it('does not use a certificate before its key exists', async () => {
    const [old, fresh] = await Promise.all([1, 2].map(() => authority.issue({ commonName: 'a' })));
    assert.ok(old !== undefined && fresh !== undefined);
    const pair = (cert: string, key: string): LoginData => ({ tls: { cert, key }, headers: {} });
    const { credentials, clock } = source([
      pair(old.certificatePem, old.keyPem),
      pair(fresh.certificatePem, old.keyPem),
      pair(fresh.certificatePem, fresh.keyPem),
    ]);
    const certificate = async (): Promise<unknown> => (await credentials.get()).tls.cert;
    assert.equal(await certificate(), old.certificatePem);
    await clock.advance(30_001);
    assert.equal(await certificate(), old.certificatePem);
    await clock.advance(1001);
    assert.equal(await certificate(), fresh.certificatePem);
  });
});
