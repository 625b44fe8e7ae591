import { describe } from 'node:test';
import { useDatabase } from '../support/databases.ts';
import { MemoryStorage } from '../support/memory-storage.ts';
import { storageAuditContract } from './storage-audit-contract.ts';
import { storageBulkContract } from './storage-bulk-contract.ts';
import { storageContract } from './storage-contract.ts';
import { storageListContract } from './storage-list-contract.ts';

const memory = new MemoryStorage();
storageContract('memory', () => memory);
storageListContract('memory', () => memory);
storageAuditContract('memory', () => memory);
storageBulkContract('memory', () => memory);

describe('on MySQL', () => {
  const database = useDatabase('mysql');
  storageContract('mysql', () => database().storage);
  storageListContract('mysql', () => database().storage);
  storageAuditContract('mysql', () => database().storage);
  storageBulkContract('mysql', () => database().storage);
});

describe('on MariaDB', () => {
  const database = useDatabase('mariadb');
  storageContract('mariadb', () => database().storage);
  storageListContract('mariadb', () => database().storage);
  storageAuditContract('mariadb', () => database().storage);
  storageBulkContract('mariadb', () => database().storage);
});
