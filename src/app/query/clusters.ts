// The clusters whose stored objects the query API answers for: the one that it runs in, and those of the configuration.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Configuration } from '../../config/schema.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { QueryMetrics } from '../../metrics/metrics.ts';
import { Authorizer } from '../../query/authorize.ts';
import { QueryError } from '../../query/errors.ts';
import type { ClusterParts, OtherCluster } from '../../query/options.ts';
import { Questions } from '../../query/questions.ts';
import type { QueryWrites } from '../../query/write-port.ts';
import { MysqlMetadataStorage } from '../../storage/mysql/store/mysql-storage.ts';
import type { QueryTemplates } from '../../storage/query-templates.ts';
import { lenientEncoder } from '../../sync/row.ts';
import { ClusterMemory } from '../cluster-memory.ts';
import { createClient } from '../kube-client.ts';
import { mysqlOptions, readSecret } from '../mysql-options.ts';
import { sensitiveValues } from '../sensitive.ts';
import { createQueryWrites } from './query-writes.ts';
import { createReadReport } from './reconciler-report.ts';

export interface Surroundings {
  readonly templates: QueryTemplates;
  readonly metrics: QueryMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface OpenCluster extends ClusterParts {
  readonly storage: MysqlMetadataStorage;
  readonly client: KubeClient;
  readonly questions: Questions;
  readonly close: () => Promise<void>;
}

/** The cluster of the sections `kubernetes` and `mysql`. */
export function openCluster(configuration: Configuration, around: Surroundings): OpenCluster {
  const { templates, metrics, clock, logger } = around;
  const client = createClient(configuration, clock, metrics);
  const memory = new ClusterMemory({ client, configuration, clock });
  const mysql = { ...mysqlOptions(configuration), cluster: memory.identity };
  const storage = new MysqlMetadataStorage(mysql, clock, templates);
  const questions = new Questions({ client, clock });
  const sensitive = sensitiveValues(configuration);
  return {
    client,
    storage,
    questions,
    authorizer: new Authorizer({ questions, storage, clock }),
    readReport: createReadReport(client, configuration.kubernetes.namespace),
    writes: createQueryWrites({ client, storage, sensitive, clock, encode: lenientEncoder(logger) }),
    close: async () => {
      await Promise.all([client.close(), storage.close()]);
    },
  };
}

type Other = Configuration['query']['clusters'][number];
type OpenOther = OtherCluster & Pick<OpenCluster, 'close'>;

/** By name. Throws a ConfigurationError where a file cannot be read. */
export function openOthers(
  configuration: Configuration,
  own: OpenCluster,
  around: Surroundings,
): ReadonlyMap<string, OpenOther> {
  const opened = configuration.query.clusters.map((cluster, index): readonly [string, OpenOther] => {
    const settings = settingsOf(configuration, cluster, `query.clusters.${index}`);
    const other =
      cluster.kubeconfig === ''
        ? openRetired(settings, own, around)
        : { ...openCluster(settings, around), isRetired: false };
    return [cluster.name, other];
  });
  return new Map(opened);
}

/** What the two do not name is that of this cluster. */
function settingsOf(configuration: Configuration, { kubeconfig, mysql }: Other, path: string): Configuration {
  const { passwordFile } = mysql;
  const password =
    passwordFile === undefined ? {} : { password: readSecret(`${path}.mysql.passwordFile`, passwordFile) };
  const given = Object.fromEntries(Object.entries(mysql).filter(([, value]) => value !== undefined));
  return {
    ...configuration,
    mysql: { ...configuration.mysql, ...given, ...password },
    kubernetes: { ...configuration.kubernetes, kubeconfig, context: '' },
  };
}

/** Its API server is gone, so the cluster of its rows cannot be asked for, nor anything be written. */
function openRetired(settings: Configuration, own: OpenCluster, { templates, clock }: Surroundings): OpenOther {
  const storage = new MysqlMetadataStorage(mysqlOptions(settings), clock, templates);
  const { client, questions } = own;
  return {
    client,
    storage,
    authorizer: new Authorizer({ questions, storage, clock }),
    readReport: () => Promise.resolve(undefined),
    writes: retiredWrites,
    isRetired: true,
    close: () => storage.close(),
  };
}

const refuse = (): Promise<never> =>
  Promise.reject(new QueryError('Forbidden', 'the cluster is retired: nothing is written there'));

const retiredWrites: QueryWrites = { restore: refuse, delete: refuse, change: refuse, deleteCollection: refuse };
