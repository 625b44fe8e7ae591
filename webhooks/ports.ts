// What rules need to know and the request does not say. Implementations never throw: what cannot be found out in time
// is an answer too, and each rule says what it does about it.

import type { IngesterName, Recorded, RecordedCrd } from '../src/api/admission-record.ts';
import type { Permitted } from '../src/api/ingester/permitted.ts';
import type { Place } from '../src/api/place.ts';
import type { ObjectName } from '../src/gitops/tombstone.ts';
import type { TombstoneEntry } from '../src/gitops/tombstone-index.ts';
import type { AdmissionRequest } from './review.ts';

/** A resource of our group, by a version that is served. */
export interface ServedResource {
  readonly group: string;
  readonly plural: string;
  readonly version: string;
}

/** Whether there is anything that a change of a CRD could lose. */
export interface ObjectCensus {
  /** Objects in the cluster, and rows of objects that left it. */
  hasObjects(resource: ServedResource, signal: AbortSignal): Promise<'some' | 'none' | 'unknown'>;
  /** Those of the places at which an object in the cluster has a value. */
  heldPlaces(
    resource: ServedResource,
    places: readonly Place[],
    signal: AbortSignal,
  ): Promise<readonly Place[] | 'unknown'>;
}

/** What is known of the objects that had a name before; answers without a call. */
export interface TombstoneIndex {
  /** Undefined where nothing is known, which is no proof that there was none. */
  find(name: ObjectName): TombstoneEntry | undefined;
}

/** What is known of Ingesters and CRDs that were deleted. */
export interface AdmissionRecord {
  /** The version that the database of the resource of this name was migrated to. */
  migratedVersion(name: IngesterName, signal: AbortSignal): Promise<Recorded<string>>;
  /** The last CRD of these objects. */
  crd(plural: string, signal: AbortSignal): Promise<Recorded<RecordedCrd>>;
}

/** What Ingesters may ask for. */
export interface IngesterBounds {
  /** `anything`: no lifecycle controller acts in that namespace. */
  permitted(namespace: string, signal: AbortSignal): Promise<Permitted | 'anything' | 'unknown'>;
}

/** Whom and what to ask the API server about. */
export type Requester = Pick<AdmissionRequest, 'username' | 'userUid' | 'groups' | 'userExtra'>;
export type Subject = Pick<AdmissionRequest, 'group' | 'version' | 'plural' | 'namespace' | 'name'>;

/** What RBAC and other authorisers say. */
export interface AccessReviewer {
  mayDelete(user: Requester, object: Subject, signal: AbortSignal): Promise<'yes' | 'no' | 'unknown'>;
}
