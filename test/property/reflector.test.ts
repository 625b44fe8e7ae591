// Whatever the server and the network do: in the end the store is what the server has, and on the way no object was told
// of in an older state than before.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { KubeError } from '../../src/kube/errors.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { Informer } from '../../src/kube/informer.ts';
import { IdentityStore } from '../../src/kube/store.ts';
import type { KnownObject, WatchedObject } from '../../src/kube/watched-object.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { RecordingLogger } from '../support/recording-logger.ts';
import { ScriptedApiServer } from '../support/scripted-api-server.ts';

const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };

type Step = (server: ScriptedApiServer) => void;

const name = fc.constantFrom('a', 'b');
const refusal = fc.constantFrom(
  new KubeError('TooManyRequests', '429', { retryAfterMs: 2000 }),
  new KubeError('Unavailable', '503'),
  new KubeError('Expired', '410'),
);
const change: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: name.map(
      (object): Step =>
        (server) =>
          server.put(object),
    ),
  },
  name.map(
    (object): Step =>
      (server) =>
        server.delete(object),
  ),
);
const trouble: fc.Arbitrary<Step> = fc.oneof(
  fc.nat(5).map(
    (back): Step =>
      (server) =>
        server.repeat(back),
  ),
  fc.constant<Step>((server) => server.exchange()),
  fc.nat(2000).map(
    (bytes): Step =>
      (server) =>
        server.cut(bytes),
  ),
  fc.constant<Step>((server) => server.endWatch()),
  fc.constant<Step>((server) => server.expire()),
  fc.constant<Step>((server) => server.bookmark()),
  fc.tuple(refusal, fc.integer({ min: 1, max: 4 })).map(
    ([error, times]): Step =>
      (server) =>
        server.refuse(error, times),
  ),
);
const flush: fc.Arbitrary<Step> = fc.integer({ min: 1, max: 400 }).map(
  (piece): Step =>
    (server) =>
      server.flush(piece),
);
/** What happens, and how long it is waited for afterwards. */
const script = fc.array(
  fc.tuple(
    fc.oneof({ weight: 4, arbitrary: change }, { weight: 3, arbitrary: flush }, { weight: 3, arbitrary: trouble }),
    fc.constantFrom(0, 0, 0, 900, 5000, 40_000),
  ),
  { minLength: 1, maxLength: 60 },
);

/** Writes down what it is told and objects to anything that goes back. */
class RecordingHandler {
  readonly known = new Map<string, string>();
  readonly #last = new Map<string, number>();
  readonly #gone = new Set<string>();

  readonly add = (object: KnownObject): void => this.#see(object);
  readonly update = (before: KnownObject, after: WatchedObject): void => {
    assert.equal(before.identity.uid, after.identity.uid);
    this.#see(after);
  };
  readonly delete = ({ identity: { name: object, uid } }: KnownObject): void => {
    assert.ok(this.known.has(object), `${object} ends, of which nothing was told`);
    this.known.delete(object);
    this.#gone.add(uid);
  };

  #see({ identity }: KnownObject): void {
    const { uid, resourceVersion } = identity;
    assert.ok(!this.#gone.has(uid), `${uid} comes back after its end`);
    const last = this.#last.get(uid) ?? 0;
    assert.ok(Number(resourceVersion) >= last, `${uid} goes back from ${last} to ${resourceVersion}`);
    this.#last.set(uid, Number(resourceVersion));
    this.known.set(identity.name, `${uid} ${resourceVersion}`);
  }
}

async function settle(clock: FakeClock, milliseconds: number): Promise<void> {
  await clock.advance(milliseconds);
  for (let turn = 0; turn < 10; turn += 1) await setImmediate();
}

async function play(
  steps: readonly (readonly [Step, number])[],
  { letsGo }: { readonly letsGo: boolean },
): Promise<void> {
  const server = new ScriptedApiServer();
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const store = new IdentityStore();
  const informer = new Informer({ client: new HttpKubeClient(server), resource, store, clock, logger });
  const handler = new RecordingHandler();
  informer.addHandler(handler);
  const stop = new AbortController();
  const finished = informer.run(stop.signal);
  await settle(clock, 0);
  for (const [step, waitMs] of steps) {
    step(server);
    await settle(clock, waitMs);
    if (letsGo) store.releaseAll();
  }
  server.comeToRest();
  for (let round = 0; round < 6; round += 1) {
    await settle(clock, 60_000);
    server.flush(1000);
    await settle(clock, 0);
  }
  const wanted = [...server.objects.values()].map((object) => [object.name, `${object.uid} ${object.resourceVersion}`]);
  assert.deepEqual([...handler.known].sort(), wanted.sort());
  assert.deepEqual(
    [...store.keys()].sort().map((key) => [key.slice('ns/'.length), versionOf(store.identity(key))]),
    wanted,
  );
  const errors = logger.lines.filter(({ level }) => level === 'error');
  assert.deepEqual(errors, []);
  stop.abort();
  await settle(clock, 0);
  await finished;
  assert.equal(clock.pending, 0, 'a timer is left');
}

function versionOf(identity: { uid: string; resourceVersion: string } | undefined): string {
  return `${identity?.uid} ${identity?.resourceVersion}`;
}

describe('watching a server that repeats, exchanges, tears, delays, refuses and forgets', () => {
  for (const letsGo of [true, false]) {
    it(`ends with what the server has, and never goes back (${letsGo ? 'identities' : 'whole objects'})`, async () => {
      await fc.assert(
        fc.asyncProperty(script, (steps) => play(steps, { letsGo })),
        { numRuns: 400, endOnFailure: true },
      );
    });
  }
});
