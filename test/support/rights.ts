// Which rights a running bundle has, and which it uses, by the audit log of the API server.
import { CodedError } from '../../src/base/errors.ts';
import type { Manifest } from './renders.ts';

export interface Right {
  readonly account: string;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** Undefined: of any name. */
  readonly name: string | undefined;
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface Binding {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly kind: string; readonly name: string }[];
}

/** One line of the audit log. */
export interface Call {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource: string;
    readonly subresource?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

/** What the roles in these manifests give to the accounts of the bundle. Rules for several kinds are one right. */
export function rightsOf(manifests: readonly Manifest[]): readonly Right[] {
  const roles = new Map(manifests.map((manifest) => [`${manifest.kind}/${manifest.metadata.name}`, manifest]));
  return manifests
    .filter(({ kind }) => kind.endsWith('RoleBinding'))
    .flatMap((manifest) => {
      const { roleRef, subjects } = manifest as unknown as Binding;
      const role = roles.get(`${roleRef.kind}/${roleRef.name}`) as unknown as { rules: readonly Rule[] } | undefined;
      if (role === undefined) return [];
      const accounts = subjects.filter(({ kind }) => kind === 'ServiceAccount');
      return accounts.flatMap(({ name }) => role.rules.flatMap((rule) => expanded(name, rule)));
    });
}

function expanded(account: string, { apiGroups, resources, resourceNames, verbs }: Rule): readonly Right[] {
  const names: readonly (string | undefined)[] = resourceNames ?? [undefined];
  return verbs.flatMap((verb) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => names.map((name) => ({ account, verb, group, resource, name }))),
    ),
  );
}

export function callsOf(auditLog: string): readonly Call[] {
  const lines = auditLog.split('\n').filter((line) => line !== '');
  if (lines.length === 0) throw new CodedError('TEST_SETUP', 'the audit log is empty');
  return lines.map((line) => JSON.parse(line) as Call);
}

export function uses(call: Call, right: Right): boolean {
  const { apiGroup = '', resource, subresource, name } = call.objectRef ?? { resource: '' };
  const asked = subresource === undefined ? resource : `${resource}/${subresource}`;
  return (
    call.user.username.endsWith(`:${right.account}`) &&
    call.verb === right.verb &&
    apiGroup === right.group &&
    (right.resource === '*' || right.resource === asked) &&
    (right.name === undefined || right.name === name)
  );
}

export function describeCall({ user, verb, objectRef }: Call): string {
  const { apiGroup = '', resource = '', subresource = '', name = '' } = objectRef ?? {};
  return `${user.username.split(':').at(-1) ?? ''}: ${verb} ${apiGroup}/${resource}/${subresource} ${name}`;
}

/** Rights of which none is used; those on our kinds count together, because a rule lists them together. */
export function unusedRights(rights: readonly Right[], calls: readonly Call[]): readonly string[] {
  const together = Map.groupBy(rights, ({ account, verb, group, resource, name }) => {
    const what =
      group === 'michelangelo.api' ? 'kinds' : group.startsWith('admissionregistration') ? 'admission' : resource;
    return `${account}: ${verb} ${group}/${what}${what === 'admission' || name === undefined ? '' : ` ${name}`}`;
  });
  return [...together]
    .filter(([, same]) => !same.some((right) => calls.some((call) => uses(call, right))))
    .map(([right]) => right)
    .sort();
}
