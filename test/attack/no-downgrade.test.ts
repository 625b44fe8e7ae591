// "Nothing goes back" at the edge: no series of writes takes an object to an older version unless it names the step.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ALLOW_DOWNGRADE_ANNOTATION } from '../../src/api/names.ts';
import { type ApiAnswer, contentTypes, pathOf } from '../support/api-server.ts';
import { inBothVariants, WRITER } from '../support/both-variants.ts';
import { aManifest, kind } from '../support/cluster.ts';

/** Values of one field, in the order they are written; the last one is where the attacker wants to get. */
interface Attack {
  readonly kind: string;
  readonly field: string;
  readonly steps: readonly unknown[];
  /** Which of the writes after the first has to be refused. */
  readonly refused: readonly number[];
}

const attacks: readonly Attack[] = [
  { kind: 'Model', field: 'revisionId', steps: [5, 1], refused: [1] },
  { kind: 'Model', field: 'revisionId', steps: [5, -1, 1], refused: [1, 2] },
  { kind: 'Model', field: 'revisionId', steps: [5, null, 1], refused: [1, 2] },
  { kind: 'Model', field: 'revisionId', steps: [-1, -2], refused: [1] },
  { kind: 'Model', field: 'sealed', steps: [true, null, false], refused: [1, 2] },
  { kind: 'RayCluster', field: 'rayVersion', steps: ['2.9.0', '2.8.1'], refused: [1] },
  { kind: 'RayCluster', field: 'rayVersion', steps: ['2.9.0', 'nightly', '2.8.1'], refused: [1, 2] },
  { kind: 'RayCluster', field: 'rayVersion', steps: ['2.9.0', ' 2.8.1', '2.8.1'], refused: [1, 2] },
  { kind: 'RayCluster', field: 'rayVersion', steps: ['2.9.0', '2.08.1', '2.8.1'], refused: [1, 2] },
  { kind: 'RayCluster', field: 'rayVersion', steps: ['v2.9.0', '2.8.1-py310'], refused: [1] },
  {
    kind: 'RayCluster',
    field: 'rayVersion',
    steps: ['2.9.0', '2.9.0-rc1', '2.9.0-py310', '2.9.0-rc.1'],
    refused: [1, 3],
  },
  { kind: 'RayCluster', field: 'rayVersion', steps: ['2.9.0', `9${'.0'.repeat(200)}`, '2.8.1'], refused: [1, 2] },
  { kind: 'RayCluster', field: 'rayVersion', steps: ['2.9.0', '', '2.8.1'], refused: [1, 2] },
  { kind: 'SparkJob', field: 'sparkVersion', steps: ['3.3.0', 'latest', '', '3.2.9'], refused: [1, 2, 3] },
  // What has no order was never compared: nothing is lost on the way out of it.
  { kind: 'SparkJob', field: 'sparkVersion', steps: ['latest', '3.2.9', '3.3.0'], refused: [] },
];

inBothVariants('no downgrade', ({ admission, namespace }) => {
  for (const [index, { kind: kindName, field, steps, refused }] of attacks.entries()) {
    const way = steps.map((step) => JSON.stringify(step).slice(0, 20)).join(' to ');
    it(`admission keeps spec.${field} of a ${kindName} from going back by ${way}`, async () => {
      const { api } = admission();
      const [of, name] = [kind(kindName), `way-${index}`];
      const path = pathOf(of, namespace, name);
      const body = aManifest(kindName, namespace, name, { spec: { [field]: steps[0] } });
      await api.must({ method: 'POST', path: pathOf(of, namespace), body });
      for (const [step, value] of steps.entries()) {
        if (step === 0) continue;
        for (const answer of await writes(path, body, { [field]: value })) {
          const { status, body: told } = answer;
          const what = `${JSON.stringify(value)}: ${status} ${told.message ?? ''}`;
          assert.equal(status === 403, refused.includes(step), what);
          if (status === 403) assert.match(told.message ?? '', /to permit it set annotation/, what);
          else assert.equal(status, 200, what);
        }
      }
    });
  }

  /** The same value by every way of writing it. */
  async function writes(path: string, whole: object, spec: object): Promise<readonly ApiAnswer[]> {
    const { api } = admission();
    const { metadata } = await api.must({ method: 'GET', path });
    const replaced = { ...whole, metadata, spec };
    const apply = `${path}?fieldManager=attacker&force=true`;
    const nothing = Object.values(spec)[0] === null;
    return [
      await api.call({ method: 'PATCH', path, body: { spec }, contentType: contentTypes.merge, as: WRITER }),
      ...(nothing
        ? []
        : [
            await api.call({
              method: 'PATCH',
              path: apply,
              body: { ...whole, spec },
              contentType: contentTypes.apply,
              as: WRITER,
            }),
          ]),
      await api.call({
        method: 'PUT',
        path,
        body: { ...replaced, metadata: (await api.must({ method: 'GET', path })).metadata },
        as: WRITER,
      }),
    ];
  }

  const ways: readonly (readonly string[])[] = [
    ['1.3.2'],
    ['nightly', '1.3.2'],
    ['1.4.0-nightly.1', 'v1.4.0-rc1', '1.3.2'],
    ['1.4', '2030.01.01', '1.3.2-py310'],
  ];
  for (const [index, steps] of ways.entries()) {
    it(`admission keeps an Ingester from going below what was migrated by ${steps.join(' to ')}`, async () => {
      const path = await anIngester(`ways-${index}`, '1.4.0');
      for (const step of steps) {
        // A variant of the same release is no step back.
        const same = step.startsWith('1.4.0-nightly');
        for (const { status, body } of await writesOfIngester(path, step)) {
          assert.equal(status, same ? 200 : 403, `${step}: ${status} ${body.message ?? ''}`);
          if (!same) assert.match(body.message ?? '', /migrated 1\.4\.0; to permit it set annotation .*=1\.4\.0:/);
        }
      }
    });
  }

  it('admission refuses an Ingester whose version has no order every other version, unless the annotation names the way', async () => {
    const path = await anIngester('unordered', 'nightly');
    for (const step of ['1.3.2', '9.0.0']) {
      for (const { status } of await writesOfIngester(path, step)) assert.equal(status, 403, step);
    }
    assert.equal((await writesOfIngester(path, '9.0.0', '1.4.0:9.0.0'))[0]?.status, 403);
    assert.equal((await writesOfIngester(path, '9.0.0', 'nightly:9.0.0'))[0]?.status, 200);
    // No migration to it has run: going back to what the database is, is no downgrade.
    assert.equal((await writesOfIngester(path, 'nightly', ''))[0]?.status, 200);
  });

  /** An Ingester whose database was migrated to this version. */
  async function anIngester(name: string, migratedVersion: string): Promise<string> {
    const { api } = admission();
    const path = `/apis/ingester.michelangelo.api/v1/namespaces/${namespace}/ingesters`;
    const spec = { version: migratedVersion, database: { credentialsSecret: 'mysql' } };
    const body = { apiVersion: 'ingester.michelangelo.api/v1', kind: 'Ingester', metadata: { name }, spec };
    await api.must({ method: 'POST', path, body });
    const status = { body: { status: { migratedVersion } }, contentType: contentTypes.merge };
    await api.must({ method: 'PATCH', path: `${path}/${name}/status`, ...status });
    return `${path}/${name}`;
  }

  /** The same by a patch, and by a replacement that claims a lower baseline. */
  async function writesOfIngester(path: string, version: string, way = ''): Promise<readonly ApiAnswer[]> {
    const { api } = admission();
    const annotations = { [ALLOW_DOWNGRADE_ANNOTATION]: way };
    const patch = { metadata: { annotations }, spec: { version } };
    const patched = await api.call({ method: 'PATCH', path, body: patch, contentType: contentTypes.merge });
    const stored = await api.must({ method: 'GET', path });
    const body = {
      ...stored,
      metadata: { ...stored.metadata, annotations },
      spec: { ...(stored as { spec?: object }).spec, version },
      status: { migratedVersion: '0.0.1' },
    };
    return [patched, await api.call({ method: 'PUT', path, body })];
  }

  it('admission permits each downgrade whose annotation names its target, and no other', async () => {
    const { api } = admission();
    const path = pathOf(kind('RayCluster'), namespace, 'permitted');
    const body = aManifest('RayCluster', namespace, 'permitted', { spec: { rayVersion: '2.9.0' } });
    await api.must({ method: 'POST', path: pathOf(kind('RayCluster'), namespace), body });
    const to = async (rayVersion: string, permit: string): Promise<number> => {
      const annotations = { [ALLOW_DOWNGRADE_ANNOTATION]: permit };
      const patch = { metadata: { annotations }, spec: { rayVersion } };
      return (await api.call({ method: 'PATCH', path, body: patch, contentType: contentTypes.merge })).status;
    };
    assert.equal(await to('nightly', '2.8.1'), 403);
    assert.equal(await to('2.8.1', 'nightly'), 403);
    assert.equal(await to('nightly', 'nightly'), 200);
    assert.equal(await to('2.8.1', ''), 200);
  });
});
