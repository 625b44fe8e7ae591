import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { connect } from 'node:tls';
import { createAuthority } from '../../../hack/local/certificates.ts';
import type { ConnectionLimits } from '../../../src/base/connection-limits.ts';
import { close, type HttpsServer, listen, portOf } from '../../../src/base/https-server.ts';
import { eventually } from '../../support/eventually.ts';
import { loopbacks } from '../../support/loopbacks.ts';

const authority = await createAuthority('test-ca');
const { certificatePem, keyPem } = await authority.issue({ commonName: 'server', hosts: ['127.0.0.1'] });

describe('an HTTPS server under attack', () => {
  let server: HttpsServer;
  let sockets: Socket[] = [];
  const ended: string[] = [];

  async function start(limits: Partial<ConnectionLimits>, headBytes?: number): Promise<void> {
    ended.length = 0;
    const answer = (body: Buffer[]): string => `${Buffer.concat(body).length} bytes`;
    server = await listen(
      (request, response) => {
        response.setHeader('X-Groups', request.headersDistinct['x-remote-group']?.length ?? 0);
        const body: Buffer[] = [];
        request.on('data', (piece: Buffer) => body.push(piece));
        request.on('end', () => response.end(answer(body)));
        request.on('error', () => undefined);
      },
      { cert: certificatePem, key: keyPem },
      {
        ...{ host: '127.0.0.1', port: 0, limits, onEnded: (reason) => ended.push(reason) },
        ...(headBytes === undefined ? {} : { headBytes }),
      },
    );
  }

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets = [];
    await close(server, 1000);
  });

  function kept<T extends Socket>(socket: T): T {
    socket.on('error', () => undefined);
    sockets.push(socket);
    return socket;
  }

  async function open(): Promise<Socket> {
    const socket = kept(connect({ host: '127.0.0.1', port: portOf(server), ca: authority.caPem }));
    await once(socket, 'secureConnect');
    return socket;
  }

  const head = (length: number): string => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;

  async function ask(socket: Socket): Promise<string> {
    socket.write(`${head(4)}body`);
    const [data] = (await once(socket, 'data')) as [Buffer];
    return data.toString().split('\r\n')[0] ?? '';
  }

  it('answers over IPv4 and IPv6 where its address has no host', async () => {
    server = await listen((_, response) => response.end(), { cert: certificatePem, key: keyPem }, { port: 0 });
    for (const host of loopbacks()) {
      const socket = kept(
        connect({
          host,
          port: portOf(server),
          ca: authority.caPem,
          servername: 'localhost',
          checkServerIdentity: () => undefined,
        }),
      );
      await once(socket, 'secureConnect');
    }
  });

  it('takes every line of a head that is as large as it allows, and no larger one', async () => {
    await start({}, 128 * 1024);
    const answered = async (groups: number, name: string): Promise<string> => {
      const socket = await open();
      const lines = Array.from({ length: groups }, (_, index) => `X-Remote-Group: ${name}${index}`);
      socket.write(['GET / HTTP/1.1', 'Host: x', ...lines, '', ''].join('\r\n'));
      const [data] = (await once(socket, 'data')) as [Buffer];
      const text = data.toString();
      return `${text.split('\r\n')[0] ?? ''}, ${/X-Groups: (\d+)/.exec(text)?.[1] ?? 'none'}`;
    };
    assert.equal(
      await answered(1000, 'CN=a-group-with-the-long-name-of-a-directory,OU=ml,DC=example,DC=com-'),
      'HTTP/1.1 200 OK, 1000',
    );
    assert.equal(await answered(3000, 'short-'), 'HTTP/1.1 200 OK, 3000');
    // The server says 431 and closes, which may come before the client has sent the rest.
    assert.match(await answered(9000, 'short-').catch(String), /^HTTP\/1.1 431 |ECONNRESET|EPIPE/);
  });

  it('ends a connection whose head never ends, however often another byte of it comes', async () => {
    await start({ headMs: 500 });
    const socket = await open();
    const closed = once(socket, 'close');
    socket.write('POST / HTTP/1.1\r\nX: ');
    const trickling = setInterval(() => socket.write('x'), 100);
    await closed;
    clearInterval(trickling);
    assert.deepEqual(ended, ['head']);
  });

  it('ends a connection whose body never ends, however often another byte of it comes', async () => {
    await start({ bodyMs: 500 });
    const socket = await open();
    const closed = once(socket, 'close');
    socket.write(head(1000));
    const trickling = setInterval(() => socket.write('x'), 100);
    await closed;
    clearInterval(trickling);
    assert.deepEqual(ended, ['body']);
  });

  it('keeps an idle connection that has been answered for as long as idle ones may stay', async () => {
    await start({ headMs: 300, bodyMs: 300 });
    const socket = await open();
    assert.equal(await ask(socket), 'HTTP/1.1 200 OK');
    await new Promise((resolve) => setTimeout(resolve, 2500));
    assert.equal(await ask(socket), 'HTTP/1.1 200 OK');
    assert.deepEqual(ended, []);
  });

  it('serves new clients while others hold every place with unfinished handshakes, heads and bodies', async () => {
    await start({ most: 9 });
    for (let index = 0; index < 9; index += 1) {
      if (index % 3 === 0) await once(kept(connectTcp(portOf(server), '127.0.0.1')), 'connect');
      else (await open()).write(index % 3 === 1 ? 'POST / HT' : head(1000));
    }
    for (let index = 0; index < 20; index += 1) assert.equal(await ask(await open()), 'HTTP/1.1 200 OK');
    assert.ok(ended.includes('room'));
  });

  it('never has more connections than it may, whatever clients do', async () => {
    await start({ most: 5 });
    for (let index = 0; index < 40; index += 1) {
      const socket = await open();
      if (index % 2 === 0) await ask(socket);
    }
    const count = (): Promise<number> =>
      new Promise((resolve) => server.server.getConnections((_error, number) => resolve(number)));
    await eventually(async () => assert.ok((await count()) <= 6, `${await count()} connections`), 10_000);
  });

  it('tells a client whose idle connection makes room to come again, so that no call is lost', async () => {
    await start({ most: 1 });
    const idle = await open();
    await ask(idle);
    const closing = once(idle, 'data') as Promise<[Buffer]>;
    assert.equal(await ask(await open()), 'HTTP/1.1 200 OK');
    assert.match((await closing)[0].toString(), /^HTTP\/1.1 503 .*\r\nRetry-After: 0\r\n/);
  });
});
