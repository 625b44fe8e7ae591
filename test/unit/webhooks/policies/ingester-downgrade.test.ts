import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../../src/base/json.ts';
import { ingesterDowngrade } from '../../../../webhooks/policies/ingester-downgrade.ts';
import { aRecord } from '../../../support/admission-record.ts';
import { assertDenied, assertWarned, verdictOf } from '../../../support/policies.ts';

interface Change {
  readonly migrated?: string;
  readonly before?: string;
  readonly after?: string;
  readonly override?: string;
}

function ingester(version: string | undefined, status: JsonObject, annotations: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'ingester.michelangelo.api/v1',
    kind: 'Ingester',
    metadata: { name: 'main', annotations },
    spec: { ...(version === undefined ? {} : { version }), environment: 'Production' },
    status,
  };
}

function requestFor({ migrated, before, after, override }: Change): JsonObject {
  const status = migrated === undefined ? {} : { migratedVersion: migrated };
  const annotations = override === undefined ? {} : { 'michelangelo/allow-downgrade': override };
  return {
    operation: 'UPDATE',
    kind: { group: 'ingester.michelangelo.api', version: 'v1', kind: 'Ingester' },
    resource: { group: 'ingester.michelangelo.api', version: 'v1', resource: 'ingesters' },
    oldObject: ingester(before, status),
    object: ingester(after, status, annotations),
  };
}

const rule = ingesterDowngrade('warn', aRecord());

const refused: readonly Change[] = [
  { migrated: '1.4.0', before: '1.4.0', after: '1.3.2' },
  { migrated: '1.4.0', before: '1.4.0' },
  { migrated: '1.4.0', before: '1.4.0', after: '1.4.0-rc1' },
  { migrated: 'v1.4.0', before: '1.4.0', after: '1.3.9-py310' },
  // The migration to 1.5.0 has not happened, so 1.4.0 is the baseline; 1.3.0 is still below it.
  { migrated: '1.4.0', before: '1.5.0', after: '1.3.0' },
];

const allowed: readonly Change[] = [
  { before: '1.4.0', after: '1.3.2' },
  { migrated: '1.4.0', before: '1.4.0', after: '1.5.0' },
  { migrated: '1.4.0', before: '1.4.0', after: '1.4.0-py310' },
  { migrated: '1.4.0', before: '1.4.0-py310', after: '1.4.0-py311' },
  // Asked for, but never migrated: going back to what the database is, is no downgrade.
  { migrated: '1.4.0', before: '1.5.0', after: '1.4.0' },
  // What stands there was decided before; other fields stay editable.
  { migrated: '1.4.0', before: '1.3.2', after: '1.3.2' },
  { migrated: 'nightly', before: 'nightly', after: 'nightly' },
];

const title = ({ migrated, before, after }: Change): string =>
  `${before ?? 'none'} -> ${after ?? 'none'} after migrating to ${migrated ?? 'nothing'}`;

describe('rule ingester-downgrade', () => {
  for (const change of refused) {
    it(`refuses ${title(change)}`, async () => assertDenied(await verdictOf(rule, requestFor(change)), /migrated/));

    it(`allows ${title(change)} when the annotation names exactly that way`, async () => {
      const override = `${change.migrated ?? ''}:${change.after ?? 'none'}`;
      assertWarned(await verdictOf(rule, requestFor({ ...change, override })), /migrated/);
      assertDenied(await verdictOf(rule, requestFor({ ...change, override: `${override}0` })), /migrated/);
      assertDenied(
        await verdictOf(rule, requestFor({ ...change, override: `9.9.9:${change.after ?? ''}` })),
        /migrated/,
      );
      assertDenied(await verdictOf(rule, requestFor({ ...change, override: change.after ?? 'none' })), /migrated/);
    });
  }

  for (const change of allowed) {
    it(`allows ${title(change)}`, async () =>
      assert.deepEqual(await verdictOf(rule, requestFor(change)), { allowed: true }));
  }

  const incomparable: readonly Change[] = [
    { migrated: '1.4.0', before: '1.4.0', after: 'latest' },
    { migrated: 'nightly', before: 'nightly', after: '1.0.0' },
    { migrated: '1.4.0', before: '1.4.0', after: '1.3' },
  ];
  for (const change of incomparable) {
    it(`warns of ${title(change)}, or refuses it by setting unless the annotation names it`, async () => {
      assertWarned(await verdictOf(rule, requestFor(change)), /cannot be compared/);
      const strict = ingesterDowngrade('deny', aRecord());
      assertDenied(await verdictOf(strict, requestFor(change)), /cannot be compared.*allow-downgrade/);
      const permitted = requestFor({ ...change, override: `${change.migrated ?? ''}:${change.after ?? ''}` });
      assertWarned(await verdictOf(strict, permitted), /cannot be compared/);
    });
  }

  it('takes the baseline from the stored object, not from the request', async () => {
    const request = requestFor({ migrated: '1.4.0', before: '1.4.0', after: '1.3.2' });
    const object = { ...(request['object'] as JsonObject), status: { migratedVersion: '1.0.0' } };
    assertDenied(await verdictOf(rule, { ...request, object }), /migrated 1\.4\.0/);
  });

  it('does not apply to creates, deletes, status and other kinds', async () => {
    const request = requestFor({ migrated: '1.4.0', before: '1.4.0', after: '1.3.2' });
    const kind = { group: 'michelangelo.api', version: 'v2', kind: 'Model' };
    for (const change of [{ operation: 'CREATE' }, { operation: 'DELETE' }, { subResource: 'status' }, { kind }]) {
      assert.deepEqual(await verdictOf(rule, { ...request, ...change }), { allowed: true });
    }
  });

  it('shows both versions and the annotation to set', async () => {
    assert.deepEqual(await verdictOf(rule, requestFor({ migrated: '1.4.0', before: '1.4.0', after: '1.3.2' })), {
      allowed: false,
      message:
        'spec.version 1.3.2 is older than the migrated 1.4.0; to permit it set annotation michelangelo/allow-downgrade=1.4.0:1.3.2',
    });
  });
});

describe('rule ingester-downgrade, for a resource that is created', () => {
  const create = (version: string | undefined, override?: string): JsonObject => {
    const annotations: JsonObject = override === undefined ? {} : { 'michelangelo/allow-downgrade': override };
    // A status that is sent with a create is dropped by the API server.
    const object = ingester(version, { migratedVersion: '0.0.1' }, annotations);
    const { oldObject: _, ...request } = requestFor({});
    return { ...request, operation: 'CREATE', namespace: 'ns', name: 'main', object };
  };
  const known = ingesterDowngrade('warn', aRecord({ state: 'known', value: '1.4.0' }));

  it('refuses a version below the migrated version of the resource that had its name, unless the way is named', async () => {
    assertDenied(
      await verdictOf(known, create('1.3.2')),
      /^spec\.version 1\.3\.2 is older than the migrated 1\.4\.0; to permit it .*=1\.4\.0:1\.3\.2$/,
    );
    assertDenied(await verdictOf(known, create(undefined)), /older than the migrated/);
    assertWarned(await verdictOf(known, create('1.3.2', '1.4.0:1.3.2')), /older than the migrated/);
    assertDenied(await verdictOf(known, create('1.3.2', 'unknown:1.3.2')), /older than the migrated/);
  });

  it('allows the same version and newer ones, and warns of what has no order', async () => {
    for (const version of ['1.4.0', '1.4.0-py311', '1.5.0']) {
      assert.deepEqual(await verdictOf(known, create(version)), { allowed: true });
    }
    assertWarned(await verdictOf(known, create('latest')), /cannot be compared/);
  });

  it('asks for the migrated version of the very name', async () => {
    const asked: unknown[] = [];
    const record = {
      ...aRecord(),
      migratedVersion: (name: object) => {
        asked.push(name);
        return Promise.resolve({ state: 'nothing' } as const);
      },
    };
    assert.deepEqual(await verdictOf(ingesterDowngrade('deny', record), create('1.0.0')), { allowed: true });
    assert.deepEqual(asked, [{ namespace: 'ns', name: 'main' }]);
  });

  it('refuses every version while the migrated version cannot be read, unless the way from there is named', async () => {
    const doubt = ingesterDowngrade('warn', aRecord({ state: 'unknown' }));
    assertDenied(
      await verdictOf(doubt, create('1.4.0')),
      /^what was migrated for an Ingester main before is unknown; to permit it .*=unknown:1\.4\.0$/,
    );
    assertWarned(await verdictOf(doubt, create('1.4.0', 'unknown:1.4.0')), /is unknown/);
    assertDenied(await verdictOf(doubt, create('1.4.0', 'unknown:1.3.0')), /is unknown/);
  });
});
