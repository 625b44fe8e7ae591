import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatTimestamp, parseTimestamp, timestampOf } from '../../../src/base/timestamp.ts';
import { formatProtoDuration, parseProtoDuration } from '../../../src/proto/well-known.ts';

describe('parseTimestamp', () => {
  it('counts seconds from 1970 and keeps nanoseconds', () => {
    deepStrictEqual(parseTimestamp('1970-01-01T00:00:00Z'), { seconds: 0, nanos: 0 });
    deepStrictEqual(parseTimestamp('2024-02-29T23:59:59.000000001Z'), { seconds: 1_709_251_199, nanos: 1 });
  });

  it('keeps nanoseconds positive before 1970', () => {
    deepStrictEqual(parseTimestamp('1969-12-31T23:59:59.25Z'), { seconds: -1, nanos: 250_000_000 });
  });

  it('subtracts the offset', () => {
    deepStrictEqual(parseTimestamp('1970-01-01T05:30:00+05:30'), { seconds: 0, nanos: 0 });
    deepStrictEqual(parseTimestamp('1969-12-31T16:00:00-08:00'), { seconds: 0, nanos: 0 });
  });

  it('drops digits beyond nanoseconds', () => {
    deepStrictEqual(parseTimestamp('1970-01-01T00:00:00.1234567899Z'), { seconds: 0, nanos: 123_456_789 });
  });

  it('takes a comma for the point, as Go does', () => {
    deepStrictEqual(parseTimestamp('1970-01-01T00:00:00,5Z'), { seconds: 0, nanos: 500_000_000 });
  });

  it('takes the first and the last second that RFC 3339 can write', () => {
    for (const text of ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999999999Z']) {
      const parsed = parseTimestamp(text);
      strictEqual(parsed && formatTimestamp(parsed), text);
    }
  });

  for (const text of [
    '2023-02-29T00:00:00Z',
    '2024-04-31T00:00:00Z',
    '2024-13-01T00:00:00Z',
    '2024-01-01T24:00:00Z',
    '2024-01-01T00:60:00Z',
    '2024-01-01T00:00:60Z',
    '2024-01-01T00:00:00',
    '2024-01-01T00:00:00.Z',
    '2024-01-01 00:00:00Z',
    '2024-01-01T00:00:00+24:00',
    '2024-01-01T00:00:00+0100',
    '0000-01-01T00:00:00+00:01',
    '-001-12-31T23:59:59Z',
    '9999-12-31T23:59:59-00:01',
    '+012024-01-01T00:00:00Z',
    '1704067200',
    '',
  ]) {
    it(`refuses "${text}"`, () => {
      strictEqual(parseTimestamp(text), undefined);
    });
  }
});

describe('timestampOf', () => {
  const times: readonly (readonly [value: unknown, time: object])[] = [
    ['1970-01-01T00:00:01.5Z', { seconds: 1, nanos: 500_000_000 }],
    [
      { seconds: '1767323045', nanos: 250_000_000 },
      { seconds: 1_767_323_045, nanos: 250_000_000 },
    ],
    [
      { seconds: 1_767_323_045, nanos: '1' },
      { seconds: 1_767_323_045, nanos: 1 },
    ],
    [{ seconds: '-1' }, { seconds: -1, nanos: 0 }],
    [
      { seconds: null, nanos: 7 },
      { seconds: 0, nanos: 7 },
    ],
    [{}, { seconds: 0, nanos: 0 }],
    [
      { seconds: '-62167219200', nanos: 999_999_999 },
      { seconds: -62_167_219_200, nanos: 999_999_999 },
    ],
    [{ seconds: '253402300799' }, { seconds: 253_402_300_799, nanos: 0 }],
  ];
  for (const [value, time] of times) {
    it(`reads ${JSON.stringify(value)}`, () => deepStrictEqual(timestampOf(value), time));
  }

  const none: readonly unknown[] = [
    ...[undefined, null, 5, [], 'soon'],
    ...[{ seconds: '-62167219201' }, { seconds: '253402300800' }, { seconds: '9223372036854775807' }],
    ...[
      { seconds: 1, nanos: -1 },
      { seconds: 1, nanos: 1_000_000_000 },
    ],
    ...[
      { seconds: 1.5 },
      { seconds: '1.5' },
      { seconds: '' },
      { seconds: ' 1' },
      { seconds: '0x1' },
      { seconds: true },
    ],
    ...[{ seconds: [1] }, { nanos: '1e3' }, { seconds: 1, zone: 'UTC' }],
  ];
  for (const value of none) {
    it(`refuses ${JSON.stringify(value)}`, () => strictEqual(timestampOf(value), undefined));
  }
});

describe('formatTimestamp', () => {
  it('writes UTC with the shortest exact fraction', () => {
    strictEqual(formatTimestamp({ seconds: 0, nanos: 0 }), '1970-01-01T00:00:00Z');
    strictEqual(formatTimestamp({ seconds: -1, nanos: 500_000_000 }), '1969-12-31T23:59:59.5Z');
    strictEqual(formatTimestamp({ seconds: 1, nanos: 1000 }), '1970-01-01T00:00:01.000001Z');
  });

  it('has no text for what RFC 3339 cannot write', () => {
    strictEqual(formatTimestamp({ seconds: 253_402_300_800, nanos: 0 }), undefined);
    strictEqual(formatTimestamp({ seconds: 0, nanos: 1_000_000_000 }), undefined);
    strictEqual(formatTimestamp({ seconds: 0, nanos: -1 }), undefined);
  });
});

describe('protobuf durations', () => {
  const samples: Readonly<Record<string, object>> = {
    '0s': { seconds: 0, nanos: 0 },
    '3.5s': { seconds: 3, nanos: 500_000_000 },
    '-0.001s': { seconds: 0, nanos: -1_000_000 },
    '-90s': { seconds: -90, nanos: 0 },
    '315576000000s': { seconds: 315_576_000_000, nanos: 0 },
    '0.000000001s': { seconds: 0, nanos: 1 },
  };
  for (const [text, duration] of Object.entries(samples)) {
    it(`reads and writes ${text}`, () => {
      deepStrictEqual(parseProtoDuration(text), duration);
      strictEqual(formatProtoDuration(parseProtoDuration(text)!), text);
    });
  }

  it('reads a negative zero as zero', () => {
    deepStrictEqual(parseProtoDuration('-0s'), { seconds: 0, nanos: 0 });
  });

  // What the original's own parser made of each, jsonpb of gogo/protobuf 1.3.2.
  const ofGo: Readonly<Record<string, object>> = {
    '1h': { seconds: 3600, nanos: 0 },
    '1h30m0.5s': { seconds: 5400, nanos: 500_000_000 },
    '500ms': { seconds: 0, nanos: 500_000_000 },
    '.5s': { seconds: 0, nanos: 500_000_000 },
    '1.s': { seconds: 1, nanos: 0 },
    '0': { seconds: 0, nanos: 0 },
    '+5s': { seconds: 5, nanos: 0 },
    '-1.5h': { seconds: -5400, nanos: 0 },
    '-1ms': { seconds: 0, nanos: -1_000_000 },
    '1µs': { seconds: 0, nanos: 1000 },
    '1μs2us3ns': { seconds: 0, nanos: 3003 },
    '0.0000000001s': { seconds: 0, nanos: 0 },
    '2562047h': { seconds: 9_223_369_200, nanos: 0 },
  };
  for (const [text, duration] of Object.entries(ofGo)) {
    it(`reads ${text} as Go does`, () => deepStrictEqual(parseProtoDuration(text), duration));
  }

  for (const text of [
    '5',
    's',
    '-',
    '.',
    '.s',
    '315576000001s',
    '1e3s',
    '1d',
    ' 1s',
    '9999999h',
    '1h'.repeat(51),
    '',
  ]) {
    it(`refuses "${text}"`, () => {
      strictEqual(parseProtoDuration(text), undefined);
    });
  }
});
