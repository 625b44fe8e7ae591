import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject, JsonValue } from '../../../../src/base/json.ts';
import { protectMarks } from '../../../../webhooks/policies/protect-marks.ts';
import type { AccessReviewer, Requester, Subject } from '../../../../webhooks/ports.ts';
import { assertDenied, assertWarned, verdictOf } from '../../../support/policies.ts';

type Answer = 'yes' | 'no' | 'unknown';

class FakeAccess implements AccessReviewer {
  readonly asked: { user: Requester; object: Subject }[] = [];
  readonly #answer: Answer;

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  mayDelete(user: Requester, object: Subject): Promise<Answer> {
    this.asked.push({ user, object });
    return Promise.resolve(this.#answer);
  }
}

const DELETING = 'michelangelo/Deleting';
const EVICT = 'michelangelo/Immutable';

const model = (annotations: JsonObject | null): JsonObject => ({
  apiVersion: 'michelangelo.api/v2',
  kind: 'Model',
  metadata: { name: 'a-model', annotations },
});
const update = (before: JsonObject | null, after: JsonObject | null): JsonObject => ({
  operation: 'UPDATE',
  oldObject: model(before),
  object: model(after),
  userInfo: { username: 'alice', uid: 'u1', groups: ['a', 'b'], extra: { scopes: ['x'] } },
});

describe('rule protect-marks', () => {
  for (const mark of [DELETING, EVICT]) {
    const set = update({}, { [mark]: 'true' });

    it(`lets a user who may delete set ${mark}`, async () => {
      const access = new FakeAccess('yes');
      assert.deepEqual(await verdictOf(protectMarks(access, 'deny'), set), { allowed: true, warnings: [] });
      assert.equal(access.asked.length, 1);
      const [{ user, object }] = access.asked as [{ user: Requester; object: Subject }];
      assert.deepEqual(
        [user.username, user.userUid, user.groups, user.userExtra],
        ['alice', 'u1', ['a', 'b'], { scopes: ['x'] }],
      );
      const { group, version, plural, namespace, name } = object;
      assert.deepEqual(
        [group, version, plural, namespace, name],
        ['michelangelo.api', 'v2', 'models', 'a-namespace', 'a-model'],
      );
    });

    it(`refuses ${mark} from a user who may not delete`, async () => {
      const verdict = await verdictOf(protectMarks(new FakeAccess('no'), 'deny'), set);
      assertDenied(verdict, /needs the right to delete: alice may not delete this object; ask for the verb delete/);
    });

    it(`refuses ${mark} while it is unknown whether the user may delete`, async () => {
      const verdict = await verdictOf(protectMarks(new FakeAccess('unknown'), 'deny'), set);
      assertDenied(verdict, /did not say in time whether alice has it; try again/);
    });

    it(`asks for every way in which ${mark} becomes "true"`, async () => {
      for (const before of [null, {}, { [mark]: 'false' }, { [mark]: 'True' }]) {
        const request = update(before, { [mark]: 'true', other: 'x' });
        assertDenied(await verdictOf(protectMarks(new FakeAccess('no'), 'deny'), request), /right to delete/);
      }
    });

    it(`asks the API server nothing where ${mark} stays or goes`, async () => {
      const access = new FakeAccess('no');
      const rule = protectMarks(access, 'deny');
      for (const after of [{ [mark]: 'true', other: 'x' }, {}, { [mark]: 'false' }, null]) {
        assert.deepEqual(await verdictOf(rule, update({ [mark]: 'true' }, after)), { allowed: true, warnings: [] });
      }
      assert.deepEqual(access.asked, []);
    });

    it(`refuses a new object with ${mark}, or warns by setting, and asks the API server nothing`, async () => {
      const access = new FakeAccess('yes');
      const create = { object: model({ [mark]: 'true' }) };
      assertDenied(await verdictOf(protectMarks(access, 'deny'), create), /a new object must not carry/);
      assertWarned(await verdictOf(protectMarks(access, 'warn'), create), /a new object must not carry/);
      assert.deepEqual(access.asked, []);
    });

    const admitted = mark === EVICT;
    it(`${admitted ? 'admits' : 'refuses'} a new object with ${mark} where the setting is allow`, async () => {
      const access = new FakeAccess('no');
      const verdict = await verdictOf(protectMarks(access, 'allow'), { object: model({ [mark]: 'true' }) });
      assert.equal(verdict.allowed, admitted);
      assert.deepEqual(access.asked, []);
      assertDenied(
        await verdictOf(protectMarks(access, 'allow'), {
          object: model({ [mark]: 'true', [DELETING]: 'true' }),
        }),
        /a new object must not carry michelangelo\/Deleting/,
      );
    });

    it(`warns of values of ${mark} that do nothing, once, when they are written`, async () => {
      const rule = protectMarks(new FakeAccess('no'), 'deny');
      for (const value of ['True', 'yes', '1', 'TRUE', ' true']) {
        assertWarned(await verdictOf(rule, update({}, { [mark]: value })), /no effect/);
        assertWarned(await verdictOf(rule, { object: model({ [mark]: value }) }), /no effect/);
        const unchanged = update({ [mark]: value }, { [mark]: value, other: 'x' });
        assert.deepEqual(await verdictOf(rule, unchanged), { allowed: true, warnings: [] });
      }
      for (const value of ['', 'false', null] as JsonValue[]) {
        assert.deepEqual(await verdictOf(rule, update({}, { [mark]: value })), { allowed: true, warnings: [] });
      }
    });
  }

  it('does not apply to deletes, status and other groups', async () => {
    const rule = protectMarks(new FakeAccess('no'), 'deny');
    const request = update({}, { [DELETING]: 'true' });
    const resource = { group: 'example.com', version: 'v2', resource: 'models' };
    for (const change of [{ operation: 'DELETE' }, { subResource: 'status' }, { resource }]) {
      assert.deepEqual(await verdictOf(rule, { ...request, ...change }), { allowed: true });
    }
  });

  it('keeps the longest user names short', async () => {
    const username = `system:serviceaccount:${'n'.repeat(63)}:${'a'.repeat(253)}`;
    const request = { ...update({}, { [EVICT]: 'true' }), userInfo: { username } };
    for (const answer of ['no', 'unknown'] as const) {
      assertDenied(await verdictOf(protectMarks(new FakeAccess(answer), 'deny'), request), /right to delete/);
    }
  });
});
