import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { watchStorageSwitch } from '../../../src/app/webhook/webhook.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const directory = mkdtempSync(join(tmpdir(), 'storage-switch-'));
after(() => rmSync(directory, { recursive: true }));

const OFF = 'metadataStorage:\n  enableMetadataStorage: false\n';
const ON = 'metadataStorage:\n  enableMetadataStorage: true\n';

function setUp(content?: string) {
  const file = join(directory, 'config.yaml');
  rmSync(file, { force: true });
  const write = (text: string): void => writeFileSync(file, text);
  if (content !== undefined) write(content);
  const [clock, logger] = [new FakeClock(), new RecordingLogger()];
  return { clock, logger, write, remove: () => rmSync(file), off: watchStorageSwitch({ file, clock, logger }) };
}

describe('the storage switch of the webhook', () => {
  it('is off only where the file of the reconciler sets it to false', () => {
    for (const content of [OFF, 'metadataStorage: { enableMetadataStorage: "false" }', `mysql: {host: db}\n${OFF}`]) {
      const { off, logger } = setUp(content);
      assert.equal(off(), true, content);
      assert.deepEqual(logger.messages(), ['Metadata storage is off: no new object is given the finalizer']);
    }
  });

  it('is on wherever the file does not set it to false: an object that is not guarded can be lost', () => {
    const unclear = [
      undefined,
      '',
      ON,
      'mysql: {host: db}',
      'metadataStorage: off',
      'metadataStorage: {',
      `${OFF}${OFF}`,
    ];
    const variable = 'metadataStorage: { enableMetadataStorage: "${STORAGE:false}" }';
    for (const content of [...unclear, variable, `# ${OFF.replace('\n', ' ')}`]) {
      assert.equal(setUp(content).off(), false, content);
    }
  });

  it('turns on within ten seconds without a restart, also where the file is removed', async () => {
    for (const change of [
      ({ write }: ReturnType<typeof setUp>) => write(ON),
      ({ remove }: ReturnType<typeof setUp>) => remove(),
    ]) {
      const tools = setUp(OFF);
      change(tools);
      await tools.clock.advance(10_000);
      assert.equal(tools.off(), false);
    }
  });

  it('turns off at a start only: the reconciler may still run on the file of before', async () => {
    const { clock, off, write } = setUp(ON);
    write(OFF);
    await clock.advance(60_000);
    assert.equal(off(), false);
  });
});
