import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Complaint } from '../../../src/base/complaint.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

it('a failure that lasts is a warning once, and its end one line with the reason', () => {
  const logger = new RecordingLogger();
  const complaint = new Complaint(logger, 'it fails');
  const error = new RangeError('wrong');
  complaint.say(error, { kind: 'Model' });
  complaint.say(error);
  complaint.over();
  complaint.over();
  complaint.say(error);
  assert.deepEqual(
    logger.lines.map(({ level, message, after }) => [level, message, after]),
    [
      ['warn', 'it fails', undefined],
      ['debug', 'it fails', undefined],
      ['info', 'Over: it fails', 'wrong'],
      ['warn', 'it fails', undefined],
    ],
  );
});
