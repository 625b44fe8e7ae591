import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { startTcpProxy, type TcpProxy } from '../../hack/local/tcp-proxy.ts';

const silenceMs = 100;

describe('a TCP proxy', () => {
  let server: Server;
  let proxy: TcpProxy;
  before(async () => {
    server = createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => undefined).pipe(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    proxy = await startTcpProxy({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  });
  after(async () => {
    await proxy.close();
    server.close();
  });

  const open = async (): Promise<Socket> => {
    const socket = connect(proxy.port, '127.0.0.1').setEncoding('utf8');
    await once(socket, 'connect');
    return socket;
  };
  const echo = async (socket: Socket, text: string): Promise<string> => {
    socket.write(text);
    const [answer] = (await once(socket, 'data')) as [string];
    return answer;
  };
  const silent = async (answer: Promise<string>): Promise<boolean> => {
    const silence = new Promise((resolve) => setTimeout(resolve, silenceMs, 'silence'));
    return (await Promise.race([answer, silence])) === 'silence';
  };

  it('forwards both ways', async () => {
    const socket = await open();
    assert.equal(await echo(socket, 'hello'), 'hello');
    socket.destroy();
  });

  it('delivers everything before it passes on the end', async () => {
    const socket = await open();
    socket.end('x'.repeat(3_000_000));
    let received = 0;
    for await (const text of socket) received += (text as string).length;
    assert.equal(received, 3_000_000);
  });

  it('brings everything later, in order and in each direction, without one chunk waiting for another', async () => {
    proxy.delay(silenceMs);
    const socket = await open();
    proxy.delay(0);
    const started = performance.now();
    for (const text of ['a', 'b', 'c']) {
      socket.write(text);
      await new Promise((resolve) => setTimeout(resolve, silenceMs / 4));
    }
    socket.end('d');
    let received = '';
    for await (const text of socket) received += text as string;
    const took = performance.now() - started;
    assert.equal(received, 'abcd');
    // The last one was written after three quarters of the delay, and goes both ways.
    assert.ok(took >= 2.7 * silenceMs && took < 6 * silenceMs, `${took} ms`);
  });

  it('breaks connections and refuses new ones while it is cut', async () => {
    const socket = await open();
    assert.equal(await echo(socket, 'before'), 'before');
    const closed = once(socket, 'close');
    await proxy.cut();
    await closed;
    await assert.rejects(open(), { code: 'ECONNREFUSED' });
    await proxy.cut();
    const { port } = proxy;
    await proxy.heal();
    assert.equal(proxy.port, port);
    const next = await open();
    assert.equal(await echo(next, 'after'), 'after');
    next.destroy();
  });

  it('holds back everything while it is frozen, and delivers it when it is healed', async () => {
    const old = await open();
    assert.equal(await echo(old, 'before'), 'before');
    proxy.freeze();
    const heldBack = echo(old, 'held back');
    assert.ok(await silent(heldBack));
    const young = await open();
    const early = echo(young, 'early');
    assert.ok(await silent(early));
    await proxy.heal();
    assert.equal(await heldBack, 'held back');
    assert.equal(await early, 'early');
    old.destroy();
    young.destroy();
  });
});
