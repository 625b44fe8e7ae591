// A search that finds nothing proves something only if it would find what is there.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { leaks } from '../../support/leaks.ts';

const SECRET = 'p"ss/wörd+123';
const secrets = { password: SECRET };

describe('the search for secrets in what processes say', () => {
  const said: Readonly<Record<string, string>> = {
    'plain text': `login with ${SECRET} failed`,
    'a JSON log': JSON.stringify({ msg: `login with ${SECRET} failed` }),
    'a URL': `mysql://user:${encodeURIComponent(SECRET)}@host/db`,
    'a Secret in base64': Buffer.from(SECRET).toString('base64'),
    'a header in base64': Buffer.from(`user:${SECRET}`).toString('base64'),
    'base64 of more, one further': Buffer.from(`user1:${SECRET}:more`).toString('base64'),
    'base64 of more, two further': Buffer.from(`user12:${SECRET}:more`).toString('base64'),
  };
  for (const [form, text] of Object.entries(said)) {
    it(`finds a secret in ${form}`, () => assert.deepEqual(leaks({ log: text }, secrets), ['the password is in: log']));
  }

  it('finds no secret where there is none, and names each place of a secret', () => {
    assert.deepEqual(leaks({ log: 'login failed', events: '{}' }, secrets), []);
    assert.equal(leaks({ log: SECRET, events: SECRET, metrics: '' }, secrets).length, 2);
  });

  it('reports a secret that is too short to search for', () => {
    assert.deepEqual(leaks({ log: '' }, { token: '' }), ['the token is too short to look for']);
  });
});
