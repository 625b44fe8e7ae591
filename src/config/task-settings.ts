// The sections about the tasks of the lifecycle, and what is shown meanwhile.
import * as z from 'zod';
import { duration, integer, kindName, mode, text } from './values.ts';

export interface TaskSettings {
  readonly rotation: {
    readonly user: string;
    readonly passwordFile: string;
    readonly previousUser: string;
    readonly adminUser: string;
    readonly adminPasswordFile: string;
  };
  readonly clone: {
    readonly environment: 'Development' | 'Staging' | 'Production';
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password: string;
    readonly passwordFile: string;
    readonly database: string;
    readonly tlsMode: 'off' | 'verify';
    readonly tlsCaFile: string;
    readonly keyFile: string;
    readonly excludeKinds: readonly string[];
    readonly excludeNamespaces: readonly string[];
    readonly liveRows: 'evicted' | 'as-stored';
    readonly postSqlFile: string;
    readonly rowsPerSecond: number;
  };
  readonly snapshots: { readonly database: string; readonly keep: number };
  readonly maintenance: {
    readonly bindAddress: string;
    readonly certDir: string;
    readonly title: string;
    readonly message: string;
    readonly retryAfter: number;
  };
}

const section = { error: 'expected a map of keys' };

export const taskSections: { readonly [Section in keyof TaskSettings]: z.ZodType<TaskSettings[Section]> } = {
  rotation: z
    .strictObject(
      {
        user: text
          .default('')
          .describe(
            'User that `task rotate` makes beside mysql.user. Empty: the same user gets a second password (MySQL).',
          ),
        passwordFile: text
          .default('')
          .describe('File whose first line is the new password. Empty: `task rotate` leaves the credentials alone.'),
        previousUser: text
          .default('')
          .describe('User that `task rotate --finish` removes. Empty: the old password of mysql.user.'),
        adminUser: text
          .default('')
          .describe('User who may create and alter users. Empty: mysql.user, with APPLICATION_PASSWORD_ADMIN.'),
        adminPasswordFile: text.default('').describe('File whose first line is the password of that user.'),
      },
      section,
    )
    .prefault({}),
  clone: z
    .strictObject(
      {
        environment: mode(['Development', 'Staging', 'Production'])
          .default('Production')
          .describe('What this installation is. `task clone` runs in Development and Staging only.'),
        host: text.default('').describe('MySQL server with the database that `task clone` copies.'),
        port: integer(1, 65_535).default(3306).describe('Port of that server.'),
        user: text.default('').describe('User there; SELECT on the database is enough.'),
        password: text.default('').describe('Password there. Prefer passwordFile.'),
        passwordFile: text.default('').describe('File whose first line is the password there.'),
        database: text.default('').describe('The database to copy. Nothing is written to it.'),
        tlsMode: mode(['off', 'verify']).default('off').describe('As `mysql.tlsMode`, for that server.'),
        tlsCaFile: text.default('').describe('As `mysql.tlsCaFile`, for that server.'),
        keyFile: text
          .default('')
          .describe('File with the keys that sealed its sensitive values, one a line. They are sealed anew with ours.'),
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
          .describe('What objects become that are in the cluster of the source: they are in no cluster of ours.'),
        postSqlFile: text.default('').describe('File with SQL that runs on the copy, each statement ended by `;`.'),
        rowsPerSecond: integer(0, 1_000_000).default(0).describe('Objects copied a second, at most. 0: no limit.'),
      },
      section,
    )
    .prefault({}),
  snapshots: z
    .strictObject(
      {
        database: text
          .default('')
          .describe(
            'Database on the same server that holds snapshots. Empty: the name of mysql.database and `_snapshots`.',
          ),
        keep: integer(1, 1000)
          .default(3)
          .describe('Snapshots that stay when a new one is taken, besides those that are referenced.'),
      },
      section,
    )
    .prefault({}),
  maintenance: z
    .strictObject(
      {
        bindAddress: text
          .default('0.0.0.0:6443')
          .describe('Address of the HTTPS server that stands in for the query API, host:port.'),
        certDir: text.default('/tls').describe('Folder with tls.crt and tls.key of that server.'),
        title: text.default('Under maintenance').describe('Headline of the page that people see.'),
        message: text
          .default('The stored objects are being migrated. Nothing is lost, and reading works again soon.')
          .describe('What the page and the answers to API clients say.'),
        retryAfter: duration
          .prefault('2s')
          .describe('When clients shall ask again, in whole seconds. kubectl does so ten times before it gives up.'),
      },
      section,
    )
    .prefault({}),
};
