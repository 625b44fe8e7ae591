import type { Recorded, RecordedCrd } from '../../src/api/admission-record.ts';
import type { AdmissionRecord } from '../../webhooks/ports.ts';

/** Says of everything the same; nothing has been written down unless a test says otherwise. */
export function aRecord(
  migrated: Recorded<string> = { state: 'nothing' },
  crd: Recorded<RecordedCrd> = { state: 'nothing' },
): AdmissionRecord {
  return { migratedVersion: () => Promise.resolve(migrated), crd: () => Promise.resolve(crd) };
}
