// Promise: no client that finds the webhook's port ends the process, or keeps the API server's calls out. The built
// program with the settings of the manifests, beside a real API server.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { FINALIZER } from '../../src/api/names.ts';
import { peakResidentMib } from '../bench/admission-load.ts';
import { buildShipped, type ShippedProgram } from '../bench/shipped.ts';
import { pathOf } from '../support/api-server.ts';
import { aManifest, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { type HttpsAnswer, httpsPost } from '../support/https-get.ts';
import { type SlowBodies, startSlowBodies } from '../support/slow-bodies.ts';
import { useAdmission } from '../support/use-admission.ts';

const NS = 'attacked';
const MIB = 1024 * 1024;
/** `limits.memory` of the Deployment. */
const LIMIT_MIB = 256;

const program: { shipped?: ShippedProgram } = {};
before(async () => {
  program.shipped = await buildShipped('webhook');
});
after(() => program.shipped?.remove());

describe('the webhook under attack from inside the cluster', () => {
  const admission = useAdmission(() => program.shipped ?? {});
  before(() => admission().api.must({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: NS } } }));

  const pid = (): number => admission().webhook.process.pid ?? 0;

  async function creates(prefix: string, bytes: readonly number[]): Promise<void> {
    for (const [index, size] of bytes.entries()) {
      const body = aManifest('Model', NS, `${prefix}-${index}`, { spec: { description: 'x'.repeat(size) } });
      const { metadata } = await admission().api.must({ method: 'POST', path: pathOf(kind('Model'), NS), body });
      assert.ok(metadata.finalizers?.includes(FINALIZER));
    }
  }

  async function attacked(attack: SlowBodies, connections: number, work: () => Promise<void>): Promise<void> {
    try {
      await eventually(() => assert.ok(attack.opened >= connections, `${attack.opened} connections`));
      await work();
    } finally {
      attack.stop();
    }
    const peak = peakResidentMib(pid());
    assert.ok(peak <= LIMIT_MIB, `${peak} MiB were resident`);
  }

  it('serves every create while 60 connections send bodies of 7 MiB that never end', async () => {
    const { port } = admission().webhook;
    const attack = startSlowBodies({ port, connections: 60, bytes: 7 * MIB, piece: MIB / 4 });
    await attacked(attack, 100, () => creates('slow', [...Array.from({ length: 40 }, () => 3000), 200 * 1024, MIB]));
  });

  it('serves every create while bodies as small as ordinary ones never end on 150 connections', async () => {
    const { port } = admission().webhook;
    const attack = startSlowBodies({ port, connections: 150, bytes: 64 * 1024, piece: 1024 });
    await attacked(attack, 150, () =>
      creates(
        'small',
        Array.from({ length: 40 }, () => 3000),
      ),
    );
  });

  it('survives bodies that parse to many times their size', async () => {
    const { port, authority } = admission().webhook;
    const dense = Array.from({ length: MIB }, () => ({}));
    const send = (): Promise<HttpsAnswer> =>
      httpsPost(`https://127.0.0.1:${port}/mutate`, { caPem: authority.caPem }, dense);
    const answers = await Promise.all([send(), send()]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [413, 413],
    );
    await creates('dense', [3000]);
    const peak = peakResidentMib(pid());
    assert.ok(peak <= LIMIT_MIB, `${peak} MiB were resident`);
  });
});
