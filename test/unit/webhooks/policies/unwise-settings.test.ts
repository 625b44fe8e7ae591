import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../../src/base/json.ts';
import { problemsIn } from '../../../../src/config/load.ts';
import { unwiseSettings as unwiseSettingsBy } from '../../../../webhooks/policies/unwise-settings.ts';
import { assertWarned, verdictOf } from '../../../support/policies.ts';

const unwiseSettings = unwiseSettingsBy(problemsIn);

function requestFor(spec: JsonObject, before?: JsonObject): JsonObject {
  const served = { group: 'ingester.michelangelo.api', version: 'v1' };
  const of = (each: JsonObject): JsonObject => ({ kind: 'Ingester', metadata: { name: 'main' }, spec: each });
  return {
    operation: before === undefined ? 'CREATE' : 'UPDATE',
    kind: { ...served, kind: 'Ingester' },
    resource: { ...served, resource: 'ingesters' },
    object: of(spec),
    ...(before === undefined ? {} : { oldObject: of(before) }),
  };
}

const single = { components: { sync: {} } };
const several = { components: { sync: { replicas: 2 } } };

describe('rule unwise-settings', () => {
  for (const [what, spec, warning] of [
    ['one replica of sync by default', single, /components\.sync: one replica/],
    ['one replica of sync', { components: { sync: { replicas: 1 } } }, /components\.sync: one replica/],
    [
      'an autoscaler that may go down to one',
      { components: { sync: { active: 'All', replicas: 2, autoscaling: { maxReplicas: 3 } } } },
      /one replica/,
    ],
    [
      'an autoscaler of replicas that stand by',
      { environment: 'Staging', components: { sync: { autoscaling: { minReplicas: 2, maxReplicas: 3 } } } },
      /sync\.autoscaling: one replica works and the others stand by; set active: All/,
    ],
    [
      'a key of the configuration that this version does not know',
      { ...several, config: { audit: { perod: '3h' } } },
      /spec\.config: audit\.perod: unknown key; the nearest known key is audit\.period \(in version \d+\.\d+\.\d+; another may differ\)$/,
    ],
    [
      'a value of a component that this version would refuse, also in Staging',
      { environment: 'Staging', components: { sync: { replicas: 2, config: { audit: { period: 'often' } } } } },
      /spec\.components\.sync\.config: audit\.period: /,
    ],
    ['no snapshot before a change', { lifecycle: { stateMode: 'Stateless' } }, /Stateless keeps no snapshot/],
  ] as const) {
    it(`warns of ${what}, when it is created and when an update brings it`, async () => {
      assertWarned(await verdictOf(unwiseSettings, requestFor(spec)), warning);
      assertWarned(await verdictOf(unwiseSettings, requestFor(spec, several)), warning);
    });
  }

  it('says nothing of what was there before, of what is wise, and of other environments', async () => {
    for (const request of [
      requestFor(single, { ...single, version: '1.0.0' }),
      requestFor(several),
      requestFor({ components: { sync: { active: 'All', autoscaling: { minReplicas: 2, maxReplicas: 3 } } } }),
      requestFor({ components: { query: {} } }),
      requestFor({ ...several, config: { audit: { period: '3h' }, log: {} } }),
      requestFor({ ...single, environment: 'Staging', lifecycle: { stateMode: 'Stateless' } }),
    ])
      assert.deepEqual(await verdictOf(unwiseSettings, request), { allowed: true });
  });

  it('warns again where what was fine in Staging becomes Production', async () => {
    assertWarned(
      await verdictOf(unwiseSettings, requestFor(single, { ...single, environment: 'Staging' })),
      /one replica/,
    );
  });
});
