// The whole configuration file of the original, with every section that its API server, its controllers and its ingester
// have in it.

export interface OriginalDatabase {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

/** Its variables are `MYSQL_PASSWORD`, which the ingester needs, and others that are set for its other parts alone. */
export function originalConfiguration({ host, port, user, database }: OriginalDatabase): string {
  return `controllermgr: {metricsBindAddress: ':8091', leaderElectionID: decaf1259.michelangelo.uber.com}
controllers: {rayCluster: {k8sQps: 300, k8sBurst: 600}}
minio: {awsAccessKeyId: '\${AWS_ACCESS_KEY_ID}', secure: false}
k8s: {qps: 300, burst: 600}
metadataStorage: {enableMetadataStorage: true, deletionDelay: 10s, enableResourceVersionCache: true}
mysql: {host: '${host}', port: ${port}, user: ${user}, password: '\${MYSQL_PASSWORD}', database: ${database}}
ingester:
  concurrentReconciles: 2
  requeuePeriod: 30s
  concurrentReconcilesMap:
pipeline: {revisioningEnabled: false}
inferenceServer: {gateway: {name: gateway}}
workflowClient: {host: cadence, domain: default}
jobs: {k8sengine: {mapper: {logPersistence: {enabled: false}}}}
notification: {taskList: ''}
apiserver: {crdSync: {enableCRDUpdate: true}}
pipelineRun: {ttlDays: 30}
webhook: {host: 0.0.0.0, port: 9443, certDir: '\${WEBHOOK_CERTIFICATES}', url: 'https://michelangelo-apiserver:9443'}
`;
}
