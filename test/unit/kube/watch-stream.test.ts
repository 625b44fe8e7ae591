import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CodedError } from '../../../src/base/errors.ts';
import { isKubeError } from '../../../src/kube/errors.ts';
import { watchStream } from '../../../src/kube/http/watch-stream.ts';
import { aModel } from '../../support/objects.ts';

const line = (name: string): string => `{"type":"ADDED","object":${JSON.stringify(aModel({ name }))}}\n`;

/** A body that arrives in these pieces, and breaks where one is an error. */
async function* arriving(pieces: readonly (string | Error)[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    if (piece instanceof Error) throw piece;
    yield await Promise.resolve(Buffer.from(piece));
  }
}

/** What was handed out together, by name, first nothing, and why there is no more. */
async function read(pieces: readonly (string | Error)[]): Promise<{ arrivals: string[]; error: unknown }> {
  const arrivals: string[] = [];
  try {
    for await (const events of watchStream(() => Promise.resolve(arriving(pieces)))) {
      arrivals.push(events.map((event) => (event.type === 'BOOKMARK' ? '-' : event.object.identity.name)).join(' '));
    }
    return { arrivals, error: undefined };
  } catch (error) {
    return { arrivals, error };
  }
}

describe('the stream of a watch', () => {
  it('hands out together what arrives together, and an event in pieces when it is whole', async () => {
    const [start, end] = [line('c').slice(0, 50), line('c').slice(50)];
    assert.deepEqual(await read([line('a') + line('b') + start, end]), {
      arrivals: ['', 'a b', 'c'],
      error: undefined,
    });
  });

  it('hands out what came before something that is no event, then throws', async () => {
    const { arrivals, error } = await read([`${line('a')}not an event\n${line('b')}`]);
    assert.deepEqual(arrivals, ['', 'a']);
    assert.ok(isKubeError(error, 'Unavailable'));
  });

  it('hands out what came before an error event, then throws that error', async () => {
    const gone = '{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}\n';
    const { arrivals, error } = await read([line('a') + gone]);
    assert.deepEqual(arrivals, ['', 'a']);
    assert.ok(isKubeError(error, 'Expired'));
  });

  it('throws where the connection breaks, and where it ends in the middle of an event', async () => {
    const broken = await read([line('a'), new CodedError('TEST', 'reset')]);
    const cut = await read([line('a'), line('b').slice(0, 9)]);
    for (const { arrivals, error } of [broken, cut]) {
      assert.equal(arrivals.join(' ').trim(), 'a');
      assert.ok(isKubeError(error, 'Unavailable'));
    }
  });

  it('yields to the event loop when much arrives at once', async () => {
    const body = arriving(Array.from({ length: 20 }, () => line('a')));
    let [ticks, together] = [0, 0];
    setImmediate(function again() {
      ticks += 1;
      if (ticks < 100) setImmediate(again);
    });
    for await (const _ of watchStream(() => Promise.resolve(body))) {
      const end = performance.now() + 11;
      while (performance.now() < end);
      together = ticks;
    }
    assert.ok(together >= 9);
  });
});
