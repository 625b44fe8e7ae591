// The sections that tasks alone read: clone, rotate, snapshot.
import * as z from 'zod';
import { integer, kindName, mode, section, text } from './values.ts';

export const taskSections = {
  rotation: section({
    user: text
      .default('')
      .describe(
        'User that `task rotate` creates beside mysql.user. Empty: mysql.user gets a second password (MySQL only).',
      ),
    passwordFile: text
      .default('')
      .describe('File whose first line is the new password. Empty: `task rotate` does not change credentials.'),
    previousUser: text
      .default('')
      .describe('User that `task rotate --finish` drops. Empty: it discards the old password of mysql.user.'),
    adminUser: text
      .default('')
      .describe('User who may create and alter users. Empty: mysql.user, which then needs APPLICATION_PASSWORD_ADMIN.'),
    adminPasswordFile: text.default('').describe('File whose first line is the password of that user.'),
  }),
  clone: section({
    environment: mode(['Development', 'Staging', 'Production'])
      .default('Production')
      .describe('Kind of this installation. `task clone` runs in Development and Staging only.'),
    host: text.default('').describe('Host of the source, the MySQL server with the database that `task clone` copies.'),
    port: integer(1, 65_535).default(3306).describe('Port of the source.'),
    user: text.default('').describe('User of the source; SELECT on the database is enough.'),
    passwordFile: text.default('').describe('File whose first line is the password of the source.'),
    database: text.default('').describe('Database to copy. Nothing is written to it.'),
    tlsMode: mode(['off', 'verify']).default('off').describe('As `mysql.tlsMode`, for the source.'),
    tlsCaFile: text.default('').describe('As `mysql.tlsCaFile`, for the source.'),
    keyFile: text
      .default('')
      .describe(
        'File with the encryption keys of the source, one per line. Its sensitive values are encrypted again with encryption.keyFile.',
      ),
    excludeKinds: z
      .array(kindName, { error: 'expected a list of kinds' })
      .default([])
      .describe('Kinds that are not copied.'),
    excludeNamespaces: z
      .array(text, { error: 'expected a list of namespaces' })
      .default([])
      .describe('Namespaces whose objects are not copied.'),
    liveRows: mode(['evicted', 'as-stored'])
      .default('evicted')
      .describe(
        'How objects that are live in the source are stored: evicted, because this cluster does not have them, or as-stored.',
      ),
    postSqlFile: text.default('').describe('File with SQL statements that run on the copy, each ended by `;`.'),
    rowsPerSecond: integer(0, 1_000_000).default(0).describe('Maximum objects copied per second. 0: no limit.'),
  }),
  snapshots: section({
    database: text
      .default('')
      .describe(
        'Database on the same server that holds snapshots. Empty: mysql.database with the suffix `_snapshots`.',
      ),
    keep: integer(1, 1000)
      .default(3)
      .describe('Number of snapshots to keep when a new one is taken, besides those that are referenced.'),
  }),
};
