import { describe } from 'node:test';
import { useDatabase } from '../support/databases.ts';
import { MemoryStorage } from '../support/memory-storage.ts';
import { storageAggregateContract } from './storage-aggregate-contract.ts';
import { storageAuditContract } from './storage-audit-contract.ts';
import { storageBulkContract } from './storage-bulk-contract.ts';
import { storageContract } from './storage-contract.ts';
import { storageKeyContract } from './storage-key-contract.ts';
import { storageListContract } from './storage-list-contract.ts';

const memory = new MemoryStorage();
storageContract('memory', () => memory);
storageListContract('memory', () => memory);
storageAggregateContract('memory', () => memory);
storageAuditContract('memory', () => memory);
storageBulkContract('memory', () => memory);
storageKeyContract('memory', () => memory);

describe('on MySQL', () => {
  const database = useDatabase('mysql');
  storageContract('mysql', () => database().storage);
  storageListContract('mysql', () => database().storage);
  storageAggregateContract('mysql', () => database().storage);
  storageAuditContract('mysql', () => database().storage);
  storageBulkContract('mysql', () => database().storage);
  storageKeyContract('mysql', () => database().storage);
});

describe('on MariaDB', () => {
  const database = useDatabase('mariadb');
  storageContract('mariadb', () => database().storage);
  storageListContract('mariadb', () => database().storage);
  storageAggregateContract('mariadb', () => database().storage);
  storageAuditContract('mariadb', () => database().storage);
  storageBulkContract('mariadb', () => database().storage);
  storageKeyContract('mariadb', () => database().storage);
});
