import type { Recalled, RememberedCrd } from '../../src/api/admission-memory.ts';
import type { AdmissionMemory } from '../../webhooks/ports.ts';

/** Says of everything the same; nothing has been written down unless a test says otherwise. */
export function aMemory(
  migrated: Recalled<string> = { state: 'nothing' },
  crd: Recalled<RememberedCrd> = { state: 'nothing' },
): AdmissionMemory {
  return { migratedVersion: () => Promise.resolve(migrated), crd: () => Promise.resolve(crd) };
}
