// The validating rules, in the order they are asked. docs/admission.md has one heading for each.
import type { FieldError } from '../../src/base/errors.ts';
import type { JsonObject } from '../../src/base/json.ts';
import type { ValidatingPolicy } from '../policy.ts';
import type { AccessReviewer, AdmissionRecord, IngesterBounds, ObjectCensus, TombstoneIndex } from '../ports.ts';
import { apiVersionDowngrade } from './api-version.ts';
import { archivedName } from './archived-name.ts';
import { bornDeleting } from './born-deleting.ts';
import { contentDowngrade, type DowngradeModes } from './content-downgrade.ts';
import { crdDeletion } from './crd-deletion.ts';
import { crdDowngrade } from './crd-downgrade.ts';
import { fieldRules } from './field-rules.ts';
import { ingesterDowngrade } from './ingester-downgrade.ts';
import { ingesterPermitted } from './ingester-permitted.ts';
import { knownNames } from './known-names.ts';
import { nestingDepth } from './nesting-depth.ts';
import { ownedDeletion } from './owned-deletion.ts';
import { type CreateMarked, protectMarks } from './protect-marks.ts';
import { protobufForm } from './protobuf-form.ts';
import { sameKind } from './same-kind.ts';
import { unwiseSettings } from './unwise-settings.ts';

/** The section `admission` of the configuration. */
export interface AdmissionSettings {
  readonly incomparableVersions: 'deny' | 'warn';
  readonly contentDowngrades: DowngradeModes;
  readonly minimumApiVersion: string;
  readonly createMarked: CreateMarked;
  readonly archivedNames: 'deny' | 'warn';
  readonly ownedDeletions: 'deny' | 'warn';
  readonly fieldRules: 'deny' | 'warn' | 'off';
}

/** What only the world outside the request knows. */
export interface AdmissionPorts {
  readonly access: AccessReviewer;
  readonly census: ObjectCensus;
  readonly tombstones: TombstoneIndex;
  readonly record: AdmissionRecord;
  readonly bounds: IngesterBounds;
  /** What this version of the program would refuse in sections of a configuration file. */
  readonly configurationProblems: (sections: JsonObject) => readonly FieldError[];
}

export function validatingPolicies(settings: AdmissionSettings, ports: AdmissionPorts): readonly ValidatingPolicy[] {
  return [
    sameKind,
    bornDeleting,
    nestingDepth,
    protectMarks(ports.access, settings.createMarked),
    knownNames,
    ownedDeletion(settings.ownedDeletions),
    archivedName(ports.tombstones, settings.archivedNames),
    ingesterDowngrade(settings.incomparableVersions, ports.record),
    ingesterPermitted(ports.bounds),
    unwiseSettings(ports.configurationProblems),
    contentDowngrade(settings.contentDowngrades, ports.tombstones),
    apiVersionDowngrade(settings.minimumApiVersion),
    fieldRules(settings.fieldRules),
    protobufForm,
    crdDowngrade(ports.census, ports.record),
    crdDeletion(ports.census),
  ];
}
