// One user cannot keep the others from their answers, nor keep MySQL and the API server busy: attacks on the query role
// with the settings that are shipped, before a real API server and MySQL.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createConnection } from 'mysql2/promise';
import { systemClock } from '../../src/base/clock.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { ApiServer } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { aModelRow } from '../support/objects.ts';
import { allow, createModelReaders, createUser, type QueryUser, userOf } from '../support/query/attackers.ts';
import { type QueryServer, startQueryServer } from '../support/query-server.ts';
import { useBundle } from '../support/use-bundle.ts';

const NAMESPACES = Array.from({ length: 300 }, (_, index) => `n-${String(index).padStart(3, '0')}`);
const [FIRST = ''] = NAMESPACES;
const LARGE = 'large';
/** More than the buffers between a server and a reader that takes nothing. */
const LARGE_OBJECTS = 256;
const OBJECT_BYTES = 64 * 1024;
const CONNECTIONS = 100;
const API_SERVICE = 'apiservice/v2.stored.michelangelo.api';

describe('the query API under attack', () => {
  const bundle = useBundle({ startReconciler: false });
  let api: ApiServer;
  let server: QueryServer | undefined;
  let storage: MysqlMetadataStorage | undefined;
  /** May list models in every namespace here. */
  let honest: QueryUser;
  /** May do the same in two of them. */
  let greedy: QueryUser;
  /** Has no right. */
  let stranger: QueryUser;

  before(async () => {
    const { controlPlane, database, server: mysql } = bundle();
    const pool = { maxOpenConns: 4, maxIdleConns: 4, connMaxLifetimeMs: 0 };
    const { host, port } = mysql;
    storage = new MysqlMetadataStorage(
      { host, port, database: database.name, ...database.writer, ...pool },
      systemClock,
    );
    const store = storage;
    api = new ApiServer(controlPlane.kubeconfig);
    server = await startQueryServer(bundle());
    await createModelReaders(api);
    const users = { bundle: bundle(), api, server };
    honest = await createUser(users, 'honest', [...NAMESPACES, LARGE]);
    greedy = await createUser(users, 'greedy', [FIRST, LARGE]);
    stranger = await createUser(users, 'stranger');
    const text = 'x'.repeat(OBJECT_BYTES);
    const large = Array.from({ length: LARGE_OBJECTS }, (_, index) => `large-${index}`);
    await Promise.all([
      ...NAMESPACES.map((namespace) => store.upsert(aModelRow({ uid: namespace, namespace, name: 'one' }))),
      ...large.map((name) => store.upsert(aModelRow({ uid: name, namespace: LARGE, name }, { description: text }))),
    ]);
  });

  after(async () => {
    api.close();
    await storage?.close();
    await server?.stop();
  });

  const statusOf = async (user: QueryUser): Promise<number> => {
    const { status } = await user.get(`/namespaces/${FIRST}/models`);
    return status;
  };
  const proveServed = async (): Promise<void> => {
    for (let times = 0; times < 10; times += 1) assert.equal(await statusOf(honest), 200);
  };
  const madeBy = async (resource: string): Promise<number> => {
    const text = await bundle().kubectl('get', '--raw', '/metrics');
    const lines = text.split('\n').filter((line) => line.startsWith('apiserver_request_total{'));
    const posts = lines.filter((line) => line.includes(`resource="${resource}"`) && line.includes('verb="POST"'));
    return posts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };

  it('serves others while a user holds requests whose bodies never end, whatever their rights are', async () => {
    const head = `POST /namespaces/${FIRST}/models/-/search\nContent-Type: application/json\nContent-Length: 1000`;
    for (const attacker of [stranger, greedy]) {
      const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => attacker.begin(head, '{')));
      // By now each has a place, or was refused one.
      await delay(500);
      await proveServed();
      for (const socket of sockets) socket.destroy();
    }
  });

  it('serves others while a user reads nothing of long answers, and cuts that user off', async () => {
    const sockets = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => greedy.begin(`GET /namespaces/${LARGE}/models`)),
    );
    await eventually(async () => assert.equal(await statusOf(greedy), 429));
    await proveServed();
    await eventually(async () => assert.equal(await statusOf(greedy), 200));
    for (const socket of sockets) socket.destroy();
  });

  it('asks the database nothing for a selector that is longer than users write', async () => {
    const executed = async (): Promise<number> => {
      const [row] = await bundle().database.query("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'");
      return Number(row?.['Value']);
    };
    const before = await executed();
    const body = { labelSelector: Array.from({ length: 30_000 }, () => 'a').join(',') };
    const { status } = await greedy.post(`/namespaces/${FIRST}/models/-/search`, body);
    assert.ok((await executed()) - before < 100);
    assert.equal(status, 400);
  });

  it('ends a query in the database when its client leaves', async () => {
    const { server: mysql, database } = bundle();
    const { host, port, rootUser: user, rootPassword: password } = mysql;
    const lock = await createConnection({ host, port, user, password, database: database.name });
    const running = async (): Promise<number> => {
      const [row] = await database.query(
        "SELECT COUNT(*) AS n FROM information_schema.processlist WHERE user = ? AND command <> 'Sleep'",
        [database.writer.user],
      );
      return Number(row?.['n']);
    };
    try {
      await lock.query('LOCK TABLES `model` WRITE');
      const socket = await greedy.begin(`GET /namespaces/${FIRST}/models`);
      await eventually(async () => assert.ok((await running()) > 0));
      socket.destroy();
      await eventually(async () => assert.equal(await running(), 0), 5000);
    } finally {
      await lock.end();
    }
    await proveServed();
  });

  it('asks the API server once for a user and a namespace, and stops when the client leaves', async () => {
    const before = await madeBy('subjectaccessreviews');
    const { status, body } = await honest.get('/summary');
    assert.equal(status, 200);
    const { items } = body as { readonly items: readonly { readonly namespaces: readonly string[] }[] };
    assert.deepEqual(
      items.map(({ namespaces }) => namespaces.length),
      [NAMESPACES.length + 1],
    );
    const asked = (await madeBy('subjectaccessreviews')) - before;
    assert.ok(asked <= NAMESPACES.length + 20, `${asked} access reviews`);
    const socket = await stranger.begin('GET /summary');
    await delay(200);
    socket.destroy();
    const left = await madeBy('subjectaccessreviews');
    await delay(1000);
    assert.ok((await madeBy('subjectaccessreviews')) - left < 30);
  });

  it('lists 301 namespaces that are permitted one by one', async () => {
    const { status, body } = await honest.get('/models?limit=1000&skip=spec');
    assert.equal(status, 200);
    const { items } = body as { readonly items: readonly object[] };
    assert.equal(items.length, NAMESPACES.length + LARGE_OBJECTS);
  });

  for (const count of [300, 400, 1000]) {
    it(`answers a user in ${count} groups with long names through the API server, by the right of the last of them`, async () => {
      // As directories name them: 98 characters.
      const groups = Array.from({ length: count }, (_, index) => {
        const team = `${count}-${index}`.padEnd(24, '-');
        return `CN=${team}-readers,OU=Access Groups,OU=Machine Learning,DC=engineering,DC=example`;
      });
      const name = groups.at(-1) ?? '';
      await allow(api, FIRST, { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name }, `in-${count}-groups`);
      await bundle().kubectl('wait', '--for=condition=Available', '--timeout=60s', API_SERVICE);
      const path = `/apis/stored.michelangelo.api/v2/namespaces/${FIRST}/models`;
      const read = { method: 'GET', path, as: `in-${count}-groups` } as const;
      const { status, body } = await api.call({ ...read, groups });
      assert.equal(status, 200, body.message);
      const { items } = body as unknown as { readonly items: readonly object[] };
      assert.equal(items.length, 1);
      assert.equal((await api.call({ ...read, groups: groups.slice(0, -1) })).status, 403);
    });
  }

  it('asks the API server little about invented tokens, and keeps the answers about valid ones', async () => {
    assert.ok(server !== undefined);
    const { url, caPem } = server;
    await proveServed();
    const before = await madeBy('tokenreviews');
    const guess = (): Promise<number> =>
      statusOf(userOf({ url, caPem } as QueryServer, randomBytes(32).toString('base64url')));
    const guesses = Promise.all(
      Array.from({ length: 20 }, async () => {
        const statuses: number[] = [];
        for (let times = 0; times < 20; times += 1) statuses.push(await guess());
        return statuses;
      }),
    );
    await proveServed();
    assert.deepEqual([...new Set((await guesses).flat())].sort(), [401, 429]);
    assert.ok((await madeBy('tokenreviews')) - before < 200);
    await proveServed();
  });
});
