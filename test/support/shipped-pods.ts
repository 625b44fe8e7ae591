import { type Manifest, nameOf } from './renders.ts';

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
  }[];
  readonly securityContext?: {
    readonly allowPrivilegeEscalation?: boolean;
    readonly readOnlyRootFilesystem?: boolean;
    readonly capabilities?: { readonly drop?: readonly string[] };
  };
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
  readonly livenessProbe?: object;
  readonly readinessProbe?: object;
  readonly startupProbe?: object;
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly securityContext?: {
    readonly runAsNonRoot?: boolean;
    readonly seccompProfile?: { readonly type?: string };
  };
}

/** What keeps the pods of this manifest from being what we ship: restricted, read-only, bounded and watched. */
export function podProblems(manifest: Manifest): readonly string[] {
  const pod = podOf(manifest);
  if (pod === undefined) return [];
  const serves = manifest.kind === 'Deployment';
  const problems = [...podRules(pod), ...pod.containers.flatMap((container) => containerRules(container, serves))];
  return problems.map((problem) => `${nameOf(manifest)}: ${problem}`);
}

function podOf(manifest: Manifest): PodSpec | undefined {
  const { spec } = manifest as unknown as { readonly spec?: { readonly template?: { readonly spec?: PodSpec } } };
  return spec?.template?.spec;
}

/** What talks to MySQL, and how: the mode of TLS and the file of the authority. */
export function mysqlClients(manifests: readonly Manifest[]): Readonly<Record<string, string>> {
  const clients = manifests.flatMap((manifest) => {
    const variables = new Map(
      podOf(manifest)?.containers.flatMap(({ env = [] }) => env.map(({ name, value }) => [name, value])),
    );
    if (!variables.has('INGESTER_MYSQL_HOST')) return [];
    const [mode, ca] = ['INGESTER_MYSQL_TLS_MODE', 'INGESTER_MYSQL_TLS_CA_FILE'].map((name) => variables.get(name));
    return [[`${manifest.kind} ${manifest.metadata.name}`, `${mode} ${ca}`]];
  });
  return Object.fromEntries(clients) as Readonly<Record<string, string>>;
}

/** Reconcilers that look for their lease where their rights do not reach, by name. */
export function strayLeaders(manifests: readonly Manifest[]): readonly string[] {
  const strays = ({ args = [], env = [] }: Container): boolean => {
    const place = env.find(({ name }) => name === 'INGESTER_KUBERNETES_NAMESPACE')?.valueFrom?.fieldRef;
    return args.includes('reconciler') && place?.fieldPath !== 'metadata.namespace';
  };
  return manifests.filter((manifest) => podOf(manifest)?.containers.some(strays)).map(nameOf);
}

function podRules({
  securityContext,
  serviceAccountName,
  automountServiceAccountToken,
  nodeSelector,
}: PodSpec): readonly string[] {
  return failing({
    'may run as root': securityContext?.runAsNonRoot === true,
    'names its user or group, which OpenShift assigns':
      securityContext !== undefined && !['runAsUser', 'runAsGroup', 'fsGroup'].some((key) => key in securityContext),
    'may be placed on a node of another system': nodeSelector?.['kubernetes.io/os'] === 'linux',
    'has no seccomp profile': securityContext?.seccompProfile?.type === 'RuntimeDefault',
    'uses the default service account': serviceAccountName !== undefined || automountServiceAccountToken === false,
  });
}

function containerRules(container: Container, serves: boolean): readonly string[] {
  const { securityContext, resources, image } = container;
  const rules = failing({
    'may escalate': securityContext?.allowPrivilegeEscalation === false,
    'may write its file system': securityContext?.readOnlyRootFilesystem === true,
    'has capabilities': securityContext?.capabilities?.drop?.includes('ALL') === true,
    'asks for no cpu or memory': ['cpu', 'memory'].every((name) => resources?.requests?.[name] !== undefined),
    'has no memory limit': resources?.limits?.['memory'] !== undefined,
    'has an image without a version': /:[\w][\w.-]*$|@sha256:/.test(image),
    'has no probes':
      !serves ||
      [container.livenessProbe, container.readinessProbe, container.startupProbe].every((probe) => probe !== undefined),
  });
  return rules.map((rule) => `container ${container.name} ${rule}`);
}

function failing(rules: Readonly<Record<string, boolean>>): readonly string[] {
  return Object.entries(rules).flatMap(([rule, holds]) => (holds ? [] : [rule]));
}
