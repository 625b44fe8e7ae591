import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { watchIngestedKinds } from '../../../src/app/webhook/ingested-kinds.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const directory = mkdtempSync(join(tmpdir(), 'ingested-kinds-'));
after(() => rmSync(directory, { recursive: true }));

const OFF = 'metadataStorage:\n  enableMetadataStorage: false\n';
const ON = 'metadataStorage:\n  enableMetadataStorage: true\n';
const SOME = `${ON}ingester: {kinds: [Model, CachedOutput]}\n`;

function setUp(content?: string) {
  const file = join(directory, 'config.yaml');
  rmSync(file, { force: true });
  const write = (text: string): void => writeFileSync(file, text);
  if (content !== undefined) write(content);
  const [clock, logger] = [new FakeClock(), new RecordingLogger()];
  const isIngested = watchIngestedKinds({ file, clock, logger });
  return { clock, logger, write, remove: () => rmSync(file), of: (...kinds: string[]) => kinds.map(isIngested) };
}

describe('the kinds that the webhook takes as ingested', () => {
  it('are none where the file of the reconciler sets metadata storage to false', () => {
    for (const content of [OFF, 'metadataStorage: { enableMetadataStorage: "false" }', `mysql: {host: db}\n${OFF}`]) {
      const { of, logger } = setUp(content);
      assert.deepEqual(of('Model', 'Project'), [false, false], content);
      assert.deepEqual(logger.messages(), [
        'New objects of these kinds are not given the finalizer: metadata storage is off',
      ]);
    }
  });

  it('are those that the file names, and the default ones where it switches storage on and names none', () => {
    const { of, logger } = setUp(SOME);
    assert.deepEqual(of('Model', 'CachedOutput', 'Project'), [true, true, false]);
    assert.equal((logger.lines[0]?.['kinds'] as string[]).includes('Project'), true);
    assert.deepEqual(setUp(ON).of('Model', 'Project', 'CachedOutput'), [true, true, false]);
  });

  it('are all where the file is missing or unclear: an object that is not guarded can be lost', () => {
    const unclear = [undefined, 'metadataStorage: {', `${OFF}${OFF}`, 'ingester: {kinds: Model}'];
    const variable = 'ingester: { kinds: ["${KIND:Model}"] }';
    for (const content of [...unclear, variable]) assert.deepEqual(setUp(content).of('Project'), [true], content);
    const storage = [
      '',
      'mysql: {host: db}',
      'metadataStorage: off',
      'metadataStorage: { enableMetadataStorage: "${S:false}" }',
    ];
    for (const content of storage)
      assert.deepEqual(setUp(content).of('Project', 'CachedOutput'), [true, true], content);
  });

  it('grow within ten seconds without a restart, also where the file is removed', async () => {
    for (const change of [
      ({ write }: ReturnType<typeof setUp>) => write(ON),
      ({ remove }: ReturnType<typeof setUp>) => remove(),
    ]) {
      for (const before of [OFF, SOME]) {
        const tools = setUp(before);
        change(tools);
        await tools.clock.advance(10_000);
        assert.deepEqual(tools.of('Project'), [true]);
      }
    }
  });

  it('shrink at a start only: the reconciler may still run on the file of before', async () => {
    for (const after of [OFF, SOME]) {
      const { clock, of, write } = setUp(ON);
      write(after);
      await clock.advance(60_000);
      assert.deepEqual(of('Project'), [true]);
    }
  });
});
