// What is asked for becomes the target only through here. What is refused changes nothing: the target stays, what runs
// goes on running and being repaired, and everything of the request that is not refused is taken.
import { downgradeWay } from '../api/ingester/downgrade.ts';
import type { IngesterSpec } from '../api/ingester/spec.ts';
import type { IngesterStatus, LifecycleStatus, Target, Upgrade } from '../api/ingester/status.ts';
import { ALLOW_DOWNGRADE_ANNOTATION, APPROVE_UPGRADE_ANNOTATION, REJECT_UPGRADE_ANNOTATION } from '../api/names.ts';
import { contentHash } from '../base/content-hash.ts';
import { sameJson } from '../base/same-json.ts';
import { compareVersions } from '../base/semver.ts';
import type { PlanEvent } from './plan-event.ts';
import { imageOf, milliseconds } from './settings.ts';

export interface Refusal {
  readonly kind: 'Blocked' | 'AwaitingApproval';
  readonly reason: 'DowngradeBlocked' | 'AwaitingApproval' | 'UpgradeRejected' | 'RolledBack';
  readonly message: string;
}

export interface Admission {
  readonly target: Target;
  readonly upgrade: Upgrade | undefined;
  readonly refusal?: Refusal;
}

export interface GateInput {
  readonly asked: Target;
  readonly status: IngesterStatus;
  readonly lifecycle: LifecycleStatus;
  readonly annotations: Readonly<Record<string, string>>;
  readonly now: Date;
  readonly emit: (event: PlanEvent) => void;
}

export function admit(input: GateInput): Admission {
  const { asked, status, lifecycle } = input;
  const current = status.target;
  if (current === undefined) return { target: asked, upgrade: undefined };
  if (lifecycle.rejected !== undefined && lifecycle.rejected === specHash(asked.spec))
    return rolledBack(input, current);
  if (sameGated(current.spec, asked.spec)) return { target: asked, upgrade: consumed(lifecycle.upgrade) };
  // What ran well a moment ago needs no leave to run again, as long as nothing was migrated since.
  const back = status.stable !== undefined && sameGated(status.stable.spec, asked.spec) && !isDowngrade(input);
  if (back) return { target: asked, upgrade: consumed(lifecycle.upgrade) };
  if (isDowngrade(input) && !permitted(input)) return downgrade(input, current);
  if (asked.spec.lifecycle?.upgradeMode === 'Supervised') return supervised(input, current);
  noteUnknown(input);
  return { target: asked, upgrade: undefined };
}

/** What was approved stays on record, but counts no more. */
function consumed(upgrade: Upgrade | undefined): Upgrade | undefined {
  const wasApproved = upgrade?.decision === 'Approved' || upgrade?.decision === 'Consumed';
  return wasApproved ? { ...upgrade, decision: 'Consumed' } : undefined;
}

/** The fields that a refusal holds back; everything else flows. */
function gated(spec: IngesterSpec): object {
  const { sourceSecret, replaceDataOf, trigger } = spec.lifecycle?.clone ?? {};
  return { version: spec.version, image: imageOf(spec), sourceSecret, replaceDataOf, trigger };
}

function sameGated(left: IngesterSpec, right: IngesterSpec): boolean {
  return sameJson(gated(left), gated(right));
}

function held(asked: Target, current: Target): Target {
  const { image: _, lifecycle = {}, ...rest } = asked.spec;
  const { clone: __, ...others } = lifecycle;
  const { clone } = current.spec.lifecycle ?? {};
  const spec: IngesterSpec = {
    ...rest,
    version: current.spec.version,
    ...(current.spec.image === undefined ? {} : { image: current.spec.image }),
    lifecycle: { ...others, ...(clone === undefined ? {} : { clone }) },
  };
  return { spec, generation: asked.generation };
}

function isDowngrade({ asked, status }: GateInput): boolean {
  const migrated = status.migratedVersion;
  return migrated !== undefined && compareVersions(migrated, asked.spec.version) === 'older';
}

function permitted({ asked, status, annotations }: GateInput): boolean {
  const way = downgradeWay(status.migratedVersion ?? '', asked.spec.version);
  return (annotations[ALLOW_DOWNGRADE_ANNOTATION] ?? '').split(',').some((each) => each.trim() === way);
}

function downgrade({ asked, status, emit }: GateInput, current: Target): Admission {
  const { version } = asked.spec;
  const migrated = status.migratedVersion ?? '';
  const message =
    `spec.version ${version} is older than the migrated ${migrated}. Set it forward again, or permit this one way: ` +
    `kubectl annotate ingester <name> ${ALLOW_DOWNGRADE_ANNOTATION}=${downgradeWay(migrated, version)}`;
  emit({ type: 'Warning', reason: 'DowngradeBlocked', note: message });
  return {
    target: held(asked, current),
    upgrade: undefined,
    refusal: { kind: 'Blocked', reason: 'DowngradeBlocked', message },
  };
}

function noteUnknown({ asked, status, emit }: GateInput): void {
  const migrated = status.migratedVersion;
  if (migrated === undefined || compareVersions(migrated, asked.spec.version) !== undefined) return;
  const note = `${migrated} and ${asked.spec.version} have no order; going on without knowing which is older`;
  emit({ type: 'Warning', reason: 'VersionComparisonSkipped', note });
}

function rolledBack({ asked }: GateInput, current: Target): Admission {
  const message = `the specification of generation ${asked.generation} failed and was given up; change it to try again`;
  return { target: current, upgrade: undefined, refusal: { kind: 'Blocked', reason: 'RolledBack', message } };
}

/**
 * A token is for one way, from here to there, and for one request: it is refused unless the request was on record in an
 * earlier pass, so an annotation that was there all along approves nothing that its author did not see.
 */
function supervised(input: GateInput, current: Target): Admission {
  const { lifecycle, emit } = input;
  const known = lifecycle.upgrade;
  const request = requestOf(input, current);
  if (known === undefined || !isSameWay(known, request)) return ask(input, current, request);
  if (known.decision === undefined && isExpired(input, known)) {
    emit({ type: 'Warning', reason: 'ApprovalExpired', note: 'nobody decided in time; asking anew' });
    return ask(input, current, request);
  }
  return decide(input, current, known);
}

function isSameWay(known: Upgrade, { fromImage, toVersion, toImage }: Upgrade): boolean {
  if (known.decision === 'Consumed') return false;
  return known.toVersion === toVersion && known.toImage === toImage && known.fromImage === fromImage;
}

function isExpired({ asked, now }: GateInput, { requestedAt }: Upgrade): boolean {
  return now.getTime() - Date.parse(requestedAt) > milliseconds(asked.spec.lifecycle?.approvalTimeout, '168h');
}

function ask(input: GateInput, current: Target, request: Upgrade): Admission {
  input.emit({ type: 'Normal', reason: 'ApprovalRequested', note: approvalHint(request) });
  return waiting(input, current, request);
}

function decide(input: GateInput, current: Target, known: Upgrade): Admission {
  const { asked, annotations, emit } = input;
  if (known.decision === 'Rejected') return waiting(input, current, known);
  const way = `${known.fromVersion} to ${known.toVersion}`;
  if (known.decision === 'Approved' || annotations[APPROVE_UPGRADE_ANNOTATION] === known.token) {
    emit({ type: 'Normal', reason: 'UpgradeApproved', note: `${way} was approved` });
    return { target: asked, upgrade: { ...known, decision: 'Approved' } };
  }
  if (annotations[REJECT_UPGRADE_ANNOTATION] !== known.token) return waiting(input, current, known);
  emit({ type: 'Normal', reason: 'UpgradeRejected', note: `${way} was rejected` });
  return waiting(input, current, { ...known, decision: 'Rejected' });
}

function requestOf({ asked, now }: GateInput, current: Target): Upgrade {
  const [from, to] = [current.spec, asked.spec];
  const way = { fromVersion: from.version, toVersion: to.version, fromImage: imageOf(from), toImage: imageOf(to) };
  const requestedAt = now.toISOString();
  return { ...way, requestedAt, token: contentHash({ ...way, clone: gated(to), requestedAt }).slice(0, 16) };
}

function waiting({ asked }: GateInput, current: Target, upgrade: Upgrade): Admission {
  const isRejected = upgrade.decision === 'Rejected';
  const message = isRejected
    ? `the change to ${upgrade.toVersion} was rejected; ask for another version`
    : approvalHint(upgrade);
  const reason = isRejected ? 'UpgradeRejected' : 'AwaitingApproval';
  return { target: held(asked, current), upgrade, refusal: { kind: 'AwaitingApproval', reason, message } };
}

function approvalHint({ fromVersion, toVersion, token }: Upgrade): string {
  return (
    `${fromVersion} to ${toVersion} waits for somebody who may patch this resource: kubectl annotate ingester <name> ` +
    `${APPROVE_UPGRADE_ANNOTATION}=${token}, or ${REJECT_UPGRADE_ANNOTATION}=${token}`
  );
}

export function specHash(spec: IngesterSpec): string {
  return contentHash(spec);
}
