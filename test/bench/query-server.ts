// The query API in a process of its own, so that its memory is its own; a request is one of the user that it names, who may
// read everything: what is measured is the way from MySQL to the client.

import { QUERY_CONNECTIONS } from '../../src/app/query/query.ts';
import { createQueryWrites } from '../../src/app/query/query-writes.ts';
import { systemClock } from '../../src/base/clock.ts';
import { listen, portOf } from '../../src/base/https-server.ts';
import { createLogger } from '../../src/base/logger.ts';
import { defaultKinds } from '../../src/kinds/kinds.ts';
import { encodeObject } from '../../src/proto/encode.ts';
import { createQueryApp } from '../../src/query/app.ts';
import type { MysqlOptions } from '../../src/storage/mysql/pool.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { QueryTemplates } from '../../src/storage/query-templates.ts';
import { maskedValues } from '../../src/storage/sensitive.ts';
import { FakeKubeClient } from '../support/fake-kube-client.ts';

interface Settings {
  readonly mysql: MysqlOptions;
  readonly cert: string;
  readonly key: string;
}

const { mysql, cert, key } = JSON.parse(process.env['QUERY_BENCH'] ?? '{}') as Settings;
const storage = new MysqlMetadataStorage(mysql, systemClock);
const client = new FakeKubeClient();
const app = createQueryApp({
  kinds: defaultKinds,
  storage,
  templates: new QueryTemplates(defaultKinds),
  client,
  writes: createQueryWrites({ client, storage, sensitive: maskedValues, clock: systemClock, encode: encodeObject }),
  authenticator: {
    authenticate: ({ headers }) =>
      Promise.resolve({ name: String(headers['x-bench-user'] ?? 'bench'), uid: '', groups: [], extra: {} }),
  },
  authorizer: {
    require: () => Promise.resolve(),
    requireEvents: () => Promise.resolve(),
    listableNamespaces: () => Promise.resolve(undefined),
    listable: () => Promise.resolve({ kinds: new Map(), leftOut: 0 }),
    listableAmong: (_user, items) => Promise.resolve(items),
  },
  readReport: () => Promise.resolve(undefined),
  clock: systemClock,
  logger: createLogger('error', 'query', 'stderr'),
  limits: {
    ...{ firstMs: 60_000, wholeMs: 600_000, maxInFlight: 64, userPerSecond: 0, userBurst: 1, staleMs: 180_000 },
  },
});
const server = await listen(app, { cert, key }, { host: '127.0.0.1', port: 0, limits: QUERY_CONNECTIONS });
process.stdout.write(`${portOf(server)}\n`);
