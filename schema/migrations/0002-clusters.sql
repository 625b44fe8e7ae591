-- The cluster that a database belongs to. The programs of before go on beside it.
-- minReader: 1
-- minWriter: 1
-- gate: open

CREATE TABLE IF NOT EXISTS `ingester_clusters` (
  `id` SMALLINT UNSIGNED NOT NULL,
  `uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `since` DATETIME(6) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `ingester_clusters_uid` (`uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
