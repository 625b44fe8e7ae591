import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Complaint } from '../../../src/base/complaint.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

it('a failure that lasts is a warning once, until the work has succeeded again', () => {
  const logger = new RecordingLogger();
  const complaint = new Complaint(logger, 'it fails');
  const error = new RangeError('wrong');
  complaint.say(error, { kind: 'Model' });
  complaint.say(error);
  complaint.over();
  complaint.say(error);
  assert.deepEqual(
    logger.lines.map(({ level }) => level),
    ['warn', 'debug', 'warn'],
  );
});
