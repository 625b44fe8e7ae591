// The parts of a pod that the node reads and writes, as the API server sends them.
import type { KubernetesObject, ObjectMeta } from '../../../src/api/object.ts';

export interface Pod {
  readonly metadata: PodMeta;
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

export interface PodMeta extends ObjectMeta {
  readonly deletionGracePeriodSeconds?: number;
}

export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

export interface PodSpec {
  readonly nodeName?: string;
  readonly serviceAccountName?: string;
  readonly restartPolicy: RestartPolicy;
  readonly terminationGracePeriodSeconds?: number;
  readonly activeDeadlineSeconds?: number;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly readinessGates?: readonly { readonly conditionType: string }[];
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly EnvFrom[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly resources?: Resources;
  readonly volumeMounts?: readonly VolumeMount[];
  /** Of an init container: `Always` makes it a sidecar. */
  readonly restartPolicy?: 'Always';
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly lifecycle?: { readonly preStop?: LifecycleHandler; readonly postStart?: LifecycleHandler };
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError';
}

export interface Resources {
  readonly limits?: Readonly<Record<string, string | number>>;
  readonly requests?: Readonly<Record<string, string | number>>;
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: FieldRef;
    readonly resourceFieldRef?: ResourceFieldRef;
    readonly secretKeyRef?: KeyRef;
    readonly configMapKeyRef?: KeyRef;
  };
}

export interface FieldRef {
  readonly fieldPath: string;
}

export interface ResourceFieldRef {
  readonly containerName?: string;
  readonly resource: string;
  readonly divisor?: string;
}

export interface KeyRef {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface EnvFrom {
  readonly prefix?: string;
  readonly secretRef?: { readonly name: string; readonly optional?: boolean };
  readonly configMapRef?: { readonly name: string; readonly optional?: boolean };
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly subPath?: string;
  readonly readOnly?: boolean;
}

export interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

export interface SecretSource {
  readonly secretName?: string;
  readonly name?: string;
  readonly items?: readonly KeyToPath[];
  readonly optional?: boolean;
}

export interface ConfigMapSource {
  readonly name: string;
  readonly items?: readonly KeyToPath[];
  readonly optional?: boolean;
}

export interface DownwardSource {
  readonly items?: readonly {
    readonly path: string;
    readonly mode?: number;
    readonly fieldRef?: FieldRef;
    readonly resourceFieldRef?: ResourceFieldRef;
  }[];
}

export interface TokenSource {
  readonly audience?: string;
  readonly expirationSeconds?: number;
  readonly path: string;
}

export interface ProjectedSource {
  readonly secret?: SecretSource;
  readonly configMap?: ConfigMapSource;
  readonly downwardAPI?: DownwardSource;
  readonly serviceAccountToken?: TokenSource;
}

export interface Volume {
  readonly name: string;
  readonly emptyDir?: object;
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly secret?: SecretSource & { readonly defaultMode?: number };
  readonly configMap?: ConfigMapSource & { readonly defaultMode?: number };
  readonly downwardAPI?: DownwardSource & { readonly defaultMode?: number };
  readonly projected?: { readonly sources: readonly ProjectedSource[]; readonly defaultMode?: number };
}

export interface LifecycleHandler {
  readonly exec?: { readonly command: readonly string[] };
  readonly httpGet?: HttpGet;
  readonly tcpSocket?: { readonly port: number | string; readonly host?: string };
  readonly sleep?: { readonly seconds: number };
}

export interface HttpGet {
  readonly path?: string;
  readonly port: number | string;
  readonly host?: string;
  readonly scheme?: string;
  readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
}

/** The API server fills in the defaults of everything that has one. */
export interface Probe extends LifecycleHandler {
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly successThreshold?: number;
  readonly failureThreshold?: number;
  readonly terminationGracePeriodSeconds?: number;
}

export type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly lastProbeTime?: string | null;
  readonly observedGeneration?: number;
}

export interface PodStatus {
  readonly phase?: Phase;
  readonly reason?: string;
  readonly message?: string;
  readonly startTime?: string;
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
  readonly hostIP?: string;
  readonly hostIPs?: readonly { readonly ip: string }[];
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly [field: string]: unknown;
}

export interface TerminatedState {
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason: string;
  readonly message?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly containerID?: string;
}

export interface ContainerState {
  readonly waiting?: { readonly reason: string; readonly message?: string };
  readonly running?: { readonly startedAt: string };
  readonly terminated?: TerminatedState;
}

export interface ContainerStatus {
  readonly name: string;
  readonly image: string;
  readonly imageID: string;
  readonly containerID?: string;
  readonly restartCount: number;
  readonly ready: boolean;
  readonly started: boolean;
  readonly state: ContainerState;
  readonly lastState: ContainerState;
}

/** Never changes what it is given: informers share their objects. */
export function asPod(object: KubernetesObject): Pod {
  return object as unknown as Pod;
}

export function isTerminal(phase: Phase | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

export function isSidecar(container: Container): boolean {
  return container.restartPolicy === 'Always';
}
