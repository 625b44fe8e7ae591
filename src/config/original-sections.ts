// The configuration file of the original is read as it is: its API server, its controllers and its ingester share one.

/** Top-level sections of the original that say nothing about the ingester; nothing in them is looked at. */
export const originalSections: ReadonlySet<string> = new Set([
  ...['apiserver', 'controllermgr', 'controllers', 'crdCheck', 'inferenceServer', 'jobs', 'k8s', 'minio'],
  ...['notification', 'pipeline', 'pipelineRun', 'worker', 'workflowClient'],
]);
