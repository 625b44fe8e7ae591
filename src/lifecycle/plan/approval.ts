// Decides whether the specification of the resource becomes the target. Where a change is refused or waits for approval,
// the target keeps its fields, what runs goes on running and being repaired, and all other changes are taken.

import { approval, type Decision, rejection } from '../../api/ingester/decisions.ts';
import { downgradeWay, type IngesterSpec } from '../../api/ingester/spec.ts';
import type { IngesterStatus, LifecycleStatus, Target, Upgrade } from '../../api/ingester/status.ts';
import { ALLOW_DOWNGRADE_ANNOTATION } from '../../api/names.ts';
import { contentHash } from '../../base/hash.ts';
import { sameJson } from '../../base/json.ts';
import { compareVersions } from '../../base/semver.ts';
import type { PlanEvent } from './observed.ts';
import { isNewNonce } from './restore.ts';
import { imageOf, milliseconds } from './settings.ts';

export interface Refusal {
  readonly kind: 'Blocked' | 'AwaitingApproval';
  readonly reason: 'DowngradeBlocked' | 'AwaitingApproval' | 'UpgradeRejected' | 'RolledBack';
  readonly message: string;
}

export interface ApprovalResult {
  /** Undefined: the first specification is refused, and nothing runs yet. */
  readonly target: Target | undefined;
  readonly upgrade: Upgrade | undefined;
  readonly refusal?: Refusal;
}

export interface ApprovalInput {
  /** Of the resource: no user can know a token before there is the resource. */
  readonly uid: string;
  readonly asked: Target;
  readonly status: IngesterStatus;
  readonly lifecycle: LifecycleStatus;
  /** The version that an earlier resource of this name was migrated to. */
  readonly recordedVersion: string | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  readonly now: Date;
  readonly emit: (event: PlanEvent) => void;
}

export function checkApproval(input: ApprovalInput): ApprovalResult {
  const { asked, status, lifecycle } = input;
  const current = status.target;
  if (current === undefined) return first(input);
  if (lifecycle.rejected !== undefined && lifecycle.rejected === specHash(asked.spec))
    return rolledBack(input, current);
  if (sameApprovalFields(current.spec, asked.spec, lifecycle))
    return { target: asked, upgrade: consumed(lifecycle.upgrade) };
  // The stable target needs no approval to run again, as long as nothing was migrated since.
  const back =
    status.stable !== undefined && sameApprovalFields(status.stable.spec, asked.spec, lifecycle) && !isDowngrade(input);
  if (back) return { target: asked, upgrade: consumed(lifecycle.upgrade) };
  if (isDowngrade(input) && !isDowngradePermitted(input)) return downgrade(input, current);
  if (asked.spec.lifecycle?.upgradeMode === 'Supervised') return supervised(input, current);
  return { target: asked, upgrade: undefined };
}

/** A resource that is created again has the database of the one before. */
function first(input: ApprovalInput): ApprovalResult {
  const { asked } = input;
  if (!isDowngrade(input) || isDowngradePermitted(input)) return { target: asked, upgrade: undefined };
  return { target: undefined, upgrade: undefined, refusal: refuseDowngrade(input) };
}

/** An approval stays in the status, and permits no second upgrade. */
function consumed(upgrade: Upgrade | undefined): Upgrade | undefined {
  const wasApproved = upgrade?.decision === 'Approved' || upgrade?.decision === 'Consumed';
  return wasApproved ? { ...upgrade, decision: 'Consumed' } : undefined;
}

/** The fields whose change can be refused or needs an approval. */
function approvalFields(spec: IngesterSpec, known: LifecycleStatus): object {
  const { sourceSecret, replaceDataOf, trigger } = spec.lifecycle?.clone ?? {};
  // A restore that is done or under way needs no further approval.
  const restore = isNewNonce(spec, known) ? spec.lifecycle?.restore : undefined;
  return { version: spec.version, image: imageOf(spec), sourceSecret, replaceDataOf, trigger, restore };
}

function sameApprovalFields(left: IngesterSpec, right: IngesterSpec, known: LifecycleStatus): boolean {
  return sameJson(approvalFields(left, known), approvalFields(right, known));
}

function withoutRefused(asked: Target, current: Target): Target {
  const { image: _, lifecycle = {}, ...rest } = asked.spec;
  const { clone: __, restore: ___, ...others } = lifecycle;
  const { clone, restore } = current.spec.lifecycle ?? {};
  const spec: IngesterSpec = {
    ...rest,
    version: current.spec.version,
    ...(current.spec.image === undefined ? {} : { image: current.spec.image }),
    lifecycle: {
      ...others,
      ...(clone === undefined ? {} : { clone }),
      ...(restore === undefined ? {} : { restore }),
    },
  };
  return { spec, generation: asked.generation };
}

function migratedBefore({ status, recordedVersion }: ApprovalInput): string | undefined {
  return status.migratedVersion ?? recordedVersion;
}

/** Also where the versions have no order: over such a version, two steps could add up to a downgrade. */
function isDowngrade(input: ApprovalInput): boolean {
  const { version } = input.asked.spec;
  const migrated = migratedBefore(input);
  if (migrated === undefined || migrated === version) return false;
  const order = compareVersions(migrated, version);
  return order === undefined || order === 'older';
}

function isDowngradePermitted(input: ApprovalInput): boolean {
  const { asked, annotations } = input;
  const way = downgradeWay(migratedBefore(input) ?? '', asked.spec.version);
  return (annotations[ALLOW_DOWNGRADE_ANNOTATION] ?? '').split(',').some((each) => each.trim() === way);
}

function downgrade(input: ApprovalInput, current: Target): ApprovalResult {
  return { target: withoutRefused(input.asked, current), upgrade: undefined, refusal: refuseDowngrade(input) };
}

function refuseDowngrade(input: ApprovalInput): Refusal {
  const { version } = input.asked.spec;
  const migrated = migratedBefore(input) ?? '';
  const unordered = compareVersions(migrated, version) === undefined;
  const message =
    `spec.version ${version} ${unordered ? 'cannot be compared with' : 'is older than'} the migrated ${migrated}. ` +
    'Set it forward again, or permit this one way: ' +
    `kubectl annotate -n <namespace> ingester <name> ${ALLOW_DOWNGRADE_ANNOTATION}=${downgradeWay(migrated, version)}`;
  input.emit({ reason: 'DowngradeBlocked', note: message });
  return { kind: 'Blocked', reason: 'DowngradeBlocked', message };
}

function rolledBack({ asked, lifecycle }: ApprovalInput, current: Target): ApprovalResult {
  const { rejectedBecause = 'failed' } = lifecycle;
  const message = `${asked.spec.version} ${rejectedBecause}. It was given up; change the specification to try again`;
  return { target: current, upgrade: undefined, refusal: { kind: 'Blocked', reason: 'RolledBack', message } };
}

/**
 * A token approves one request, from one version to another. It counts only if the request was in the status before this
 * reconcile, so an annotation that was there already approves nothing that its author did not see.
 */
function supervised(input: ApprovalInput, current: Target): ApprovalResult {
  const { lifecycle, emit } = input;
  const known = lifecycle.upgrade;
  const request = requestOf(input, current);
  if (known === undefined || !isSameWay(known, request)) return ask(input, current, request);
  if (known.decision === undefined && isExpired(input, known)) {
    emit({
      reason: 'ApprovalExpired',
      note: 'no decision before approvalTimeout; a new request with a new token is made',
    });
    return ask(input, current, request);
  }
  return decide(input, current, known);
}

function isSameWay(known: Upgrade, { fromImage, content }: Upgrade): boolean {
  return known.decision !== 'Consumed' && known.content === content && known.fromImage === fromImage;
}

function isExpired({ asked, now }: ApprovalInput, { requestedAt }: Upgrade): boolean {
  return now.getTime() - Date.parse(requestedAt) > milliseconds(asked.spec.lifecycle?.approvalTimeout, '168h');
}

function ask(input: ApprovalInput, current: Target, request: Upgrade): ApprovalResult {
  input.emit({ reason: 'ApprovalRequested', note: approvalHint(request) });
  return waiting(input, current, request);
}

function decide(input: ApprovalInput, current: Target, known: Upgrade): ApprovalResult {
  const { asked, annotations } = input;
  if (known.decision === 'Rejected') return waiting(input, current, known);
  if (known.decision === 'Approved') return { target: asked, upgrade: known };
  const sets = ({ token }: Decision): boolean => annotations[token] === known.token;
  if (sets(approval)) return { target: asked, upgrade: decidedBy(input, known, approval) };
  return waiting(input, current, sets(rejection) ? decidedBy(input, known, rejection) : known);
}

/** Names of certificates and of tokens of other providers can be longer; who it was stays clear. */
const LONGEST_NAME = 256;

/** Admission takes only the name of the user who set the token. */
function decidedBy({ annotations, now, emit }: ApprovalInput, known: Upgrade, decision: Decision): Upgrade {
  const isApproval = decision === approval;
  const by = annotations[decision.by]?.slice(0, LONGEST_NAME) ?? '';
  const who = by === '' ? 'a user whose name was not recorded' : by;
  const note = `${known.fromVersion} to ${known.toVersion} was ${isApproval ? 'approved' : 'rejected'} by ${who}`;
  emit({ reason: isApproval ? 'UpgradeApproved' : 'UpgradeRejected', note });
  return {
    ...known,
    decision: isApproval ? 'Approved' : 'Rejected',
    decidedAt: now.toISOString(),
    ...(by === '' ? {} : { decidedBy: by }),
  };
}

function requestOf({ uid, asked, now, lifecycle }: ApprovalInput, current: Target): Upgrade {
  const [from, to] = [current.spec, asked.spec];
  const way = { fromVersion: from.version, toVersion: to.version, fromImage: imageOf(from), toImage: imageOf(to) };
  const requestedAt = now.toISOString();
  const content = contentHash(approvalFields(to, lifecycle));
  const snapshot = isNewNonce(to, lifecycle) ? to.lifecycle?.restore?.snapshot : undefined;
  const more = { content, ...(snapshot === undefined ? {} : { snapshot }) };
  return { ...way, ...more, requestedAt, token: contentHash({ uid, ...way, content, requestedAt }).slice(0, 16) };
}

function waiting({ asked }: ApprovalInput, current: Target, upgrade: Upgrade): ApprovalResult {
  const isRejected = upgrade.decision === 'Rejected';
  const by = upgrade.decidedBy === undefined ? '' : ` by ${upgrade.decidedBy}`;
  const message = isRejected
    ? `the change to ${upgrade.toVersion} was rejected${by}; ask for another version`
    : approvalHint(upgrade);
  const reason = isRejected ? 'UpgradeRejected' : 'AwaitingApproval';
  return { target: withoutRefused(asked, current), upgrade, refusal: { kind: 'AwaitingApproval', reason, message } };
}

function approvalHint({ fromVersion, toVersion, snapshot, token }: Upgrade): string {
  const back = snapshot === undefined ? '' : ` with the data of snapshot ${snapshot}`;
  return (
    `${fromVersion} to ${toVersion}${back} needs the approval of a user who may patch this resource: kubectl annotate -n <namespace> ingester <name> ` +
    `${approval.token}=${token}, or ${rejection.token}=${token}`
  );
}

export function specHash(spec: IngesterSpec): string {
  return contentHash(spec);
}
