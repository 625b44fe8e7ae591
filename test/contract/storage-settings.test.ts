// Servers whose administrators have set what a session inherits: another dialect, character set, time zone and isolation,
// limits, and what is done at each connection. Statements mean the same there, and answers are whole.
import { describe } from 'node:test';
import { useDatabase } from '../support/databases.ts';
import { storageAggregateContract } from './storage-aggregate-contract.ts';
import { storageAuditContract } from './storage-audit-contract.ts';
import { storageBulkContract } from './storage-bulk-contract.ts';
import { storageContract } from './storage-contract.ts';
import { storageKeyContract } from './storage-key-contract.ts';
import { storageListContract } from './storage-list-contract.ts';

const both = {
  'default-time-zone': '+09:00',
  'character-set-server': 'latin1',
  'collation-server': 'latin1_german2_ci',
  'explicit-defaults-for-timestamp': 'OFF',
  'transaction-isolation': 'SERIALIZABLE',
  autocommit: 'OFF',
  'innodb-lock-wait-timeout': '1',
  'group-concat-max-len': '4',
  'join-buffer-size': '128',
  'wait-timeout': '3',
  'lc-time-names': 'de_DE',
  'init-connect':
    'SET NAMES latin1; SET SESSION TRANSACTION READ ONLY; ' +
    'SET sql_select_limit = 2, sql_safe_updates = 1, max_join_size = 2, sql_big_selects = 0, completion_type = 2',
};

const settings = {
  mysql: {
    ...both,
    'sql-mode':
      'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,REAL_AS_FLOAT,TIME_TRUNCATE_FRACTIONAL',
    'sql-require-primary-key': 'ON',
    'max-execution-time': '1',
  },
  mariadb: {
    ...both,
    'sql-mode': 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,REAL_AS_FLOAT,ORACLE',
    'max-statement-time': '0.001',
  },
};

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`on a ${flavour} server with settings of its own`, () => {
    const database = useDatabase(flavour, settings[flavour]);
    storageContract(flavour, () => database().storage);
    storageListContract(flavour, () => database().storage);
    storageAggregateContract(flavour, () => database().storage);
    storageAuditContract(flavour, () => database().storage);
    storageBulkContract(flavour, () => database().storage);
    storageKeyContract(flavour, () => database().storage);
  });
}
