// What storage promises, on two shards.
import { describe } from 'node:test';
import { storageAggregateContract } from '../contract/storage-aggregate-contract.ts';
import { storageAuditContract } from '../contract/storage-audit-contract.ts';
import { storageBulkContract } from '../contract/storage-bulk-contract.ts';
import { storageContract } from '../contract/storage-contract.ts';
import { storageKeyContract } from '../contract/storage-key-contract.ts';
import { storageListContract } from '../contract/storage-list-contract.ts';
import { useVitess } from '../support/use-vitess.ts';

describe('on Vitess with two shards', () => {
  const vitess = useVitess();
  storageContract('vitess', () => vitess().storage);
  storageListContract('vitess', () => vitess().storage);
  storageAggregateContract('vitess', () => vitess().storage, 'refused');
  storageAuditContract('vitess', () => vitess().storage);
  storageBulkContract('vitess', () => vitess().storage);
  storageKeyContract('vitess', () => vitess().storage);
});
