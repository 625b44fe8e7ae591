import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { redact } from '../../src/base/redact.ts';

const word = fc.stringMatching(/^[A-Za-z0-9]{6,20}$/);
const piece = fc.oneof(
  fc.string(),
  fc.constantFrom('password', 'token', ':', '=', '//', '@', 'Bearer ', '"', ' ', 'eyJ', '.', '***'),
);
const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));

describe('redact', () => {
  it('changes nothing when it is applied a second time', () => {
    fc.assert(
      fc.property(text, (any) => assert.equal(redact(redact(any)), redact(any))),
      { numRuns: 2000 },
    );
  });

  it('leaves no secret, whatever text surrounds the secret', () => {
    const shape = fc.constantFrom(
      (secret: string) => `mysql://user:${secret}@host/db`,
      (secret: string) => `password=${secret}`,
      (secret: string) => `"token": "${secret}"`,
      (secret: string) => `Authorization: Bearer ${secret}`,
    );
    fc.assert(
      fc.property(word, shape, text, text, (secret, write, before, after) => {
        fc.pre(
          !before.includes(secret) && !after.includes(secret) && !'passwordtokenbearerauthorization'.includes(secret),
        );
        assert.ok(!redact(`${before} ${write(secret)} ${after}`).includes(secret));
      }),
    );
  });
});
