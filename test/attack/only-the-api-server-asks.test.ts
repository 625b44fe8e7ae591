// "The webhook answers the API server only", where it is configured to: forged reviews ask whether a user may delete, which
// names are archived and what was migrated.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { before, describe, it } from 'node:test';
import { type Authority, type Certificate, createAuthority } from '../../hack/local/certificates.ts';
import { FINALIZER } from '../../src/api/names.ts';
import { pathOf } from '../support/api-server.ts';
import { aManifest, kind } from '../support/cluster.ts';
import { aReview } from '../support/review.ts';
import { useAdmission } from '../support/use-admission.ts';

const NAME = 'kube-apiserver-webhooks';

describe('a webhook with a client authority, and an API server that shows its certificate', () => {
  let authority: Authority;
  let callers: Readonly<Record<string, Certificate | undefined>>;
  const admission = useAdmission(undefined, {
    client: async () => {
      authority = await createAuthority('webhook-clients');
      return { certificate: await authority.issue({ commonName: NAME }), caPem: authority.caPem, name: NAME };
    },
  });

  before(async () => {
    const foreign = await createAuthority('webhook-clients');
    callers = {
      'no certificate': undefined,
      'a certificate of another authority': await foreign.issue({ commonName: NAME }),
      'the certificate of another client': await authority.issue({ commonName: 'a-kubelet' }),
    };
  });

  /** Sends a review, or only the head and the first bytes of one. */
  const ask = async (path: string, caller: Certificate | undefined, body: string, whole = true): Promise<object> => {
    const { port } = admission().webhook;
    const sent = request({
      ...{ host: '127.0.0.1', port, path, method: 'POST', agent: false, ca: admission().webhook.authority.caPem },
      ...(caller === undefined ? {} : { cert: caller.certificatePem, key: caller.keyPem }),
      headers: { 'content-type': 'application/json', 'content-length': whole ? Buffer.byteLength(body) : 5_000_000 },
    });
    sent.on('error', () => undefined);
    if (whole) sent.end(body);
    else sent.write(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const chunks = (await response.toArray()) as Buffer[];
    sent.destroy();
    return { status: response.statusCode, ...(JSON.parse(Buffer.concat(chunks).toString()) as object) };
  };

  it('guards what is created through the API server', async () => {
    const path = pathOf(kind('Model'), 'default');
    const { metadata } = await admission().api.must({ method: 'POST', path, body: aManifest('Model', 'default', 'a') });
    assert.deepEqual(metadata.finalizers, [FINALIZER]);
    assert.ok((await admission().calls()) > 0);
    assert.ok((await admission().calls('/mutate')) > 0);
  });

  it('refuses every other client, before its body has come', async () => {
    const mark = { metadata: { name: 'a', annotations: { 'michelangelo/Deleting': 'true' } } };
    const forged = JSON.stringify(
      aReview({ operation: 'UPDATE', object: mark, oldObject: { metadata: { name: 'a' } } }),
    );
    const refusal = 'only the API server is answered; it shows the client certificate of the configuration';
    for (const [name, caller] of Object.entries(callers)) {
      for (const path of ['/validate?timeout=5s', '/mutate?timeout=5s']) {
        assert.deepEqual(await ask(path, caller, forged), { status: 401, message: refusal }, name);
        assert.deepEqual(await ask(path, caller, '{', false), { status: 401, message: refusal }, name);
      }
    }
  });

  it('answers a caller that shows the certificate', async () => {
    const caller = await authority.issue({ commonName: NAME });
    const answer = await ask('/mutate', caller, JSON.stringify(aReview()));
    assert.match(JSON.stringify(answer), /"status":200.*"allowed":true/);
  });
});
