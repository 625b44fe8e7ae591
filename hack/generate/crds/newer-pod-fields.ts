// Fields of pods that Kubernetes added after 1.31, whose definitions the original's CRDs are made from. A property that its
// own CRD lacks keeps its API server from starting once there is a RayCluster.
const core = 'k8s.io.api.core.v1';

export const newerPodFields: ReadonlySet<string> = new Set(
  [
    'VolumeProjection.podCertificate',
    'EnvVarSource.fileKeyRef',
    'Container.restartPolicyRules',
    'EphemeralContainerCommon.restartPolicyRules',
    'Lifecycle.stopSignal',
    'PodSecurityContext.seLinuxChangePolicy',
    'PodSpec.resources',
    'PodSpec.hostnameOverride',
    'PodSpec.schedulingGroup',
  ].map((field) => `${core}.${field}`),
);
