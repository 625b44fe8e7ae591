// The Job in which an Ingester resource rotates a key, run as its pod would be: with its arguments and its environment, and
// the Secrets that it names as files. The database is real.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import type { IngesterSpec } from '../../src/api/ingester/spec.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { valueAt } from '../../src/base/json.ts';
import { jobOf, tasksConfig } from '../../src/lifecycle/children/jobs.ts';
import { encodeObject } from '../../src/proto/encode.ts';
import { Keyring } from '../../src/storage/keyring.ts';
import { toRow } from '../../src/sync/row.ts';
import { useDatabase } from '../support/databases.ts';
import { aModel, kindNamed } from '../support/objects.ts';
import { runTask } from '../support/run-task.ts';

type Texts = Readonly<Record<string, string>>;

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

interface Source {
  readonly secretName?: string;
  readonly name?: string;
  readonly items?: readonly { readonly key: string; readonly path: string }[];
}

interface Volume {
  readonly name: string;
  readonly secret?: Source;
  readonly configMap?: Source;
  readonly projected?: { readonly sources: readonly { readonly secret: Source }[] };
}

interface Pod {
  readonly containers: readonly [
    {
      readonly args: readonly string[];
      readonly env: readonly Variable[];
      readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
    },
  ];
  readonly volumes: readonly Volume[];
}

/** What the kubelet gives to a container, below a folder. */
function filesOf({ secret, configMap, projected }: Volume, known: Readonly<Record<string, Texts>>): Texts {
  const sources = projected?.sources.map((source) => source.secret) ?? [secret ?? configMap ?? {}];
  const files = sources.flatMap(({ secretName, name, items }) => {
    const texts = known[secretName ?? name ?? ''] ?? {};
    const chosen = items ?? Object.keys(texts).map((key) => ({ key, path: key }));
    return chosen.map(({ key, path }) => [path, texts[key] ?? assert.fail(`no ${key}`)] as const);
  });
  return Object.fromEntries(files);
}

/** Runs the container of a pod here, with all its paths below the folder. */
function runPod(pod: Pod, known: Readonly<Record<string, Texts>>, folder: string): ReturnType<typeof runTask> {
  const [{ args, env, volumeMounts }] = pod.containers;
  const below = (text: string): string => text.replaceAll('/etc/ingester', join(folder, 'etc/ingester'));
  for (const { name, mountPath } of volumeMounts) {
    const volume = pod.volumes.find((each) => each.name === name) ?? assert.fail(`no volume ${name}`);
    for (const [file, text] of Object.entries(filesOf(volume, known))) {
      const path = join(below(mountPath), file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, below(text));
    }
  }
  const variables = env.map(({ name, value, valueFrom }): readonly [string, string] => {
    const { name: secret = '', key = '' } = valueFrom?.secretKeyRef ?? {};
    return [name, below(value ?? known[secret]?.[key] ?? assert.fail(`no ${name}`))];
  });
  return runTask(args, Object.fromEntries(variables));
}

describe('the Job of an Ingester resource whose key is another one', () => {
  const database = useDatabase('mysql');
  const sparkJob = kindNamed('SparkJob');
  const object: KubernetesObject = {
    ...aModel({ uid: 'sealed', name: 'sealed' }),
    kind: 'SparkJob',
    spec: { driver: { pod: { hdfsDelegationToken: 'SECRET-4711', name: 'd' } }, sparkVersion: '3.3.0' },
  };

  it('seals what is stored again, once, and needs the key before no more', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'lifecycle-rotate-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const [before, now] = [randomBytes(32), randomBytes(32)];
    const { storage, options, database: own } = database();
    await storage.upsert(toRow(sparkJob, object, encodeObject, new Keyring(before)));
    const encryption = { key: { name: 'keys-2', key: 'k' }, previousKey: { name: 'keys-1', key: 'k' } };
    const spec: IngesterSpec = { version: '1.0.0', database: { credentialsSecret: 'mysql', encryption } };
    const parent = { namespace: 'n', name: 'one', uid: 'u' };
    const access = { host: options.host, port: String(options.port), database: own.name, ...own.migrator };
    const known = {
      mysql: access,
      'keys-1': { k: before.toString('base64') },
      'keys-2': { k: now.toString('base64') },
      'one-tasks-config': valueAt(tasksConfig(parent, spec), ['data']) as Texts,
    };
    const run = (number: number): ReturnType<typeof runTask> => {
      const job = jobOf(parent, { spec, step: 'rotate' }, `rotate-${number}`);
      return runPod(valueAt(job, ['spec', 'template', 'spec']) as Pod, known, folder);
    };
    const sealedBy = async (): Promise<string | undefined> =>
      /sealed:v1:([^:"]+)/.exec((await storage.getById(sparkJob, 'sealed'))?.json ?? '')?.[1];
    assert.equal(await sealedBy(), new Keyring(before).keyId);
    const first = await run(1);
    assert.equal(first.code, 0, first.stderr);
    assert.equal(await sealedBy(), new Keyring(now).keyId);
    assert.doesNotMatch(JSON.stringify([first.stdout, first.stderr, first.termination]), /SECRET/);
    const older = await run(1);
    assert.equal(older.code, 0, older.stderr);
    await run(3);
    const late = await run(2);
    assert.notEqual(late.code, 0, 'an older attempt does nothing more');
    assert.match(late.termination, /took its place/);
  });
});
