import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import express from 'express';
import { cutSlowReaders } from '../../../src/query/app.ts';
import { eventually } from '../../support/eventually.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';

/** More than the buffers between a server and a reader that takes nothing. */
const LONG = 64 * 1024 * 1024;

describe('a reader that takes nothing', () => {
  let client: Socket | undefined;
  let stop: () => void = () => undefined;
  afterEach(() => {
    client?.destroy();
    stop();
  });

  const start = async () => {
    const clock = new FakeClock();
    const app = express();
    app.use(cutSlowReaders(clock));
    const closed = Promise.withResolvers<'finished' | 'cut'>();
    const begun = Promise.withResolvers<undefined>();
    app.use((_request, response) => {
      response.once('close', () => closed.resolve(response.writableFinished ? 'finished' : 'cut'));
      response.end(Buffer.alloc(LONG));
      begun.resolve(undefined);
    });
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    stop = () => server.close();
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client = socket;
    socket.on('error', () => undefined);
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await begun.promise;
    return { clock, socket, closed: closed.promise };
  };

  it('is cut off within twenty seconds', async () => {
    const { clock, closed } = await start();
    await clock.advance(20_000);
    assert.equal(await closed, 'cut');
    await eventually(async () => {
      await settle();
      assert.equal(clock.pending, 0);
    });
  });

  it('is not cut off while it takes what there is', async () => {
    const { clock, socket, closed } = await start();
    await clock.advance(10_000);
    socket.resume();
    assert.equal(await closed, 'finished');
  });
});
