// Nothing that the query role answers or says of itself has a secret in it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import type { Bundle } from '../../../hack/local/bundle.ts';
import { probe } from '../../../hack/local/role-process.ts';
import { aManifest, Cluster, kind } from '../cluster.ts';
import { eventually } from '../eventually.ts';
import { leaks, saidBy, secretsOf } from '../leaks.ts';
import type { QueryServer } from '../query-server.ts';

const NS = 'ml';
const NAME = 'with-a-token';
const JOBS = 'sparkjobs.stored.michelangelo.api';
const PATH = `/apis/stored.michelangelo.api/v2/namespaces/${NS}/sparkjobs`;

export interface SecretsSuite {
  readonly bundle: () => Bundle;
  readonly server: () => QueryServer;
}

export function secretsSuite({ bundle, server }: SecretsSuite): void {
  it('says no secret in answers, logs and metrics, whatever was asked', async () => {
    const cluster = new Cluster(bundle());
    const token = 'hdfs-token-of-the-query-test-0123456789';
    const pod = { hdfsDelegationToken: token };
    const spec = { driver: { pod }, executor: { instances: 1, pod } };
    await cluster.apply(aManifest('SparkJob', NS, NAME, { spec }));
    await eventually(() => cluster.row(kind('SparkJob'), NS, NAME));
    const ask = async (...args: readonly string[]): Promise<string> => {
      const { stdout, stderr } = await cluster.tryKubectl(...args);
      return stdout + stderr;
    };
    const answers = {
      object: await ask('get', JOBS, '-n', NS, NAME, '-o', 'yaml'),
      list: await ask('get', JOBS, '-n', NS, '-o', 'json'),
      description: await ask('describe', JOBS, '-n', NS, NAME),
      incarnations: await ask('get', '--raw', `${PATH}/${NAME}/incarnations`),
      changes: await ask('get', '--raw', `${PATH}/-/changes?limit=500`),
      'a refusal': await ask('get', JOBS, '-n', NS, '--field-selector', `spec.driver.pod.hdfsDelegationToken=x`),
      'log of the query role': readFileSync(server().process.logFile, 'utf8'),
      'metrics of the query role': (await probe(server().healthPort, '/metrics')).body,
      'readiness of the query role': (await probe(server().healthPort, '/readyz?verbose')).body,
    };
    for (const shown of [answers.object, answers.list, answers.description]) assert.match(shown, /with-a-token/);
    for (const [what, text] of Object.entries(answers)) assert.notEqual(text, '', what);
    const secrets = { ...secretsOf(bundle()), ...server().secrets, token };
    assert.deepEqual(leaks({ ...answers, ...(await saidBy(bundle())) }, secrets), []);
  });
}
