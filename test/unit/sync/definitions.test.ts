import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import type { KubernetesObject } from '../../../src/api/object.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { catalogue } from '../../../src/kinds/catalogue.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { checkDefinitions, emptyColumns, missingNeeds } from '../../../src/sync/startup/definitions.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { kindNamed } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const run = kindNamed('PipelineRun');

interface Version {
  name: string;
  served: boolean;
  subresources?: object;
  schema: { openAPIV3Schema: { properties: { spec: { properties: Record<string, unknown> } } } };
}
interface Crd {
  spec: { scope: string; names: { kind: string }; versions: [Version] };
}

function crdOf(plural: string, folder = '.', change: (crd: Crd) => void = () => undefined): JsonObject {
  const path = join(import.meta.dirname, '../../../crds', folder, `${plural}.michelangelo.api.yaml`);
  const crd = parse(readFileSync(path, 'utf8')) as Crd;
  change(crd);
  return crd as unknown as JsonObject;
}

describe('what is needed of a CRD', () => {
  for (const kind of catalogue) {
    it(`is in ours: ${kind.kind}`, () => {
      const crd = crdOf(kind.plural, kind.optional ? 'optional' : '.');
      assert.deepEqual([...missingNeeds(kind, crd), ...emptyColumns(kind, crd)], []);
    });
  }

  it('is named where it is missing, all at once', () => {
    const bad = crdOf('pipelineruns', '.', ({ spec }) => {
      spec.scope = 'Cluster';
      spec.names.kind = 'Run';
      spec.versions[0].served = false;
      delete spec.versions[0].subresources;
    });
    assert.deepEqual(missingNeeds(run, bad), [
      'its kind is Run, not PipelineRun',
      'it is not namespaced',
      'version v2 is not served',
      'it has no status subresource',
    ]);
    const other = crdOf('pipelineruns', '.', ({ spec }) => (spec.versions[0].name = 'v3'));
    assert.deepEqual(missingNeeds(run, other), ['version v2 is not served', 'it has no status subresource']);
  });

  it('are the fields of columns, which stay empty without them, unless a part is kept whole', () => {
    const without = crdOf('pipelineruns', '.', ({ spec }) => {
      delete spec.versions[0].schema.openAPIV3Schema.properties.spec.properties['actor'];
    });
    assert.deepEqual(emptyColumns(run, without), ['actor']);
    const last = crdOf('triggerruns', '.', ({ spec }) => {
      delete spec.versions[0].schema.openAPIV3Schema.properties.spec.properties['autoFlip'];
    });
    assert.deepEqual(emptyColumns(kindNamed('TriggerRun'), last), ['auto_flip']);
    const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const kept = crdOf('pipelineruns', '.', ({ spec }) => {
      spec.versions[0].schema.openAPIV3Schema.properties.spec.properties['actor'] = open;
    });
    assert.deepEqual(emptyColumns(run, kept), []);
  });
});

describe('looking at the CRDs', () => {
  it('ends when every one was there, waits for those that are not, and goes on after a failure', async () => {
    const [clock, logger] = [new FakeClock(), new RecordingLogger()];
    const answers: (readonly KubernetesObject[] | KubeError)[] = [
      [],
      new KubeError('Unavailable', 'down'),
      [crdOf('pipelineruns', '.', ({ spec }) => (spec.scope = 'Cluster')) as unknown as KubernetesObject],
    ];
    const list = () => {
      const answer = answers.shift() ?? assert.fail('asked again after all were seen');
      if (answer instanceof KubeError) return Promise.reject(answer);
      return Promise.resolve({
        items: answer.map((each) => asWatched(each)),
        resourceVersion: '1',
        continueToken: undefined,
      });
    };
    let ended = false;
    const check = checkDefinitions({ client: { list }, kinds: [run], clock, logger }, new AbortController().signal);
    void check.then(() => (ended = true));
    // It looks at once, and then every minute.
    for (let minute = 0; minute < 2; minute += 1) {
      assert.equal(ended, false);
      await clock.advance(60_000);
    }
    await check;
    const said = logger.lines.filter(({ level }) => level === 'error');
    assert.equal(said.length, 1);
    assert.match(
      said[0]?.message ?? '',
      /^CRD pipelineruns\.michelangelo\.api lacks what the Ingester needs: it is not namesp/,
    );
    assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1);
  });
});
