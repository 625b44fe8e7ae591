// A command that asks MySQL, run where no configuration names one.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { requireStorage } from '../../../src/config/feature-switches.ts';
import { loadConfiguration } from '../../../src/config/load.ts';

describe('a command that asks MySQL', () => {
  it('says where its configuration is, and how to run it in the cluster, where it has none', () => {
    const configuration = loadConfiguration({ file: undefined, env: {} });
    assert.throws(
      () => requireStorage(configuration, 'MySQL is compared with the cluster'),
      (error: Error) => {
        assert.match(error.message, /enableMetadataStorage: set it to true: MySQL is compared with the cluster$/m);
        assert.match(error.message, /Secret ingester-mysql.* kubectl exec -n ingester-system .*<command>/);
        return true;
      },
    );
  });
});
