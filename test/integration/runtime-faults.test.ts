// Faults on a real API server. After each: the controller has reconciled exactly the objects and versions the server has,
// by comparison, and no timer, socket, server or listener is left, by count.
import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { apiServerFaults } from '../support/runtime-faults/api-server-faults.ts';
import { controllerFaults } from '../support/runtime-faults/controller-faults.ts';
import { credentialFaults } from '../support/runtime-faults/credential-faults.ts';
import { manyObjects } from '../support/runtime-faults/many-objects.ts';
import { startWorld, type World } from '../support/runtime-faults/world.ts';

describe('a controller survives', () => {
  let world: World | undefined;
  before(async () => {
    world = await startWorld();
  });
  after(() => world?.stop());
  const theWorld = (): World => {
    assert.ok(world !== undefined);
    return world;
  };
  apiServerFaults(theWorld);
  credentialFaults(theWorld);
  controllerFaults(theWorld);
  // Leaves its objects behind.
  manyObjects(theWorld);
});
