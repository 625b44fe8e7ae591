// Which objects are archived, for ApplicationSets of Argo CD.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import request from 'supertest';
import { GENERATOR_PATH } from '../../../src/query/generator.ts';
import { fill, messageIn, type QueryAppSetUp, queryApp } from '../../support/query-app.ts';

async function ask(sent: object, setUp: QueryAppSetUp = {}): Promise<{ status: number; body: unknown }> {
  const { app, storage } = queryApp(setUp);
  await fill(storage);
  const answer = await request(app).post(GENERATOR_PATH).send(sent);
  return { status: answer.status, body: answer.body as unknown };
}
const input = (parameters: object): object => ({ applicationSetName: 'runs', input: { parameters } });

describe('the generator for ApplicationSets', () => {
  it('answers with a patch for each kind that has archived objects', async () => {
    const { status, body } = await ask(input({ namespace: 'a' }));
    assert.equal(status, 200);
    const annotations = { 'argocd.argoproj.io/hook': 'Skip' };
    const patch = { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata: { name: 'any', annotations } };
    const target = { group: 'michelangelo.api', version: 'v2', kind: 'Model', name: 'm2' };
    const patches = [{ target, patch: JSON.stringify(patch) }];
    assert.deepEqual(body, { output: { parameters: [{ namespace: 'a', patches }] } });
  });

  it('answers without patches where nothing is archived, deleted objects included', async () => {
    const { body } = await ask(input({ namespace: 'b' }));
    assert.deepEqual(body, { output: { parameters: [{ namespace: 'b', patches: [] }] } });
  });

  it('refuses a user who may not list the kinds in the namespace', async () => {
    assert.equal((await ask(input({ namespace: 'a' }), { allowed: ['b'] })).status, 403);
  });

  it('refuses what names no namespace', async () => {
    for (const body of [{}, input({}), input({ namespace: 7 }), input({ namespace: 'a/b' })]) {
      const answer = await ask(body);
      assert.equal(answer.status, 400);
      assert.match(messageIn(answer.body), /namespace/);
    }
    const { app } = queryApp();
    assert.equal((await request(app).get(GENERATOR_PATH)).status, 405);
  });
});
