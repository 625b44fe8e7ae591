-- Generated from src/kinds/catalogue.ts by "npm run generate". Do not edit.
-- After the first release this file is frozen; later changes are migrations of their own.
-- minReader: 1
-- minWriter: 1
-- gate: open

CREATE TABLE IF NOT EXISTS `cachedoutput` (
  `uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `group_ver` VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `namespace` VARCHAR(253) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `name` VARCHAR(253) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `res_version` BIGINT UNSIGNED NOT NULL,
  `generation` BIGINT NOT NULL DEFAULT 0,
  `content_hash` CHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  `labels_hash` BINARY(16),
  `annotations_hash` BINARY(16),
  `create_time` DATETIME(6) NOT NULL,
  `update_time` DATETIME(6) NOT NULL,
  `own_update_time` DATETIME(6),
  `object_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `delete_time` DATETIME(6),
  `evict_request_time` DATETIME(6),
  `evict_time` DATETIME(6),
  `row_state` TINYINT UNSIGNED NOT NULL DEFAULT 0,
  `delete_reason` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `proto` LONGBLOB NOT NULL,
  `json` JSON NOT NULL,
  PRIMARY KEY (`uid`),
  KEY `cachedoutput_namespace_name` (`namespace`, `name`),
  KEY `cachedoutput_namespace_timestamp` (`namespace`, `delete_time`, `create_time`),
  KEY `cachedoutput_timestamp` (`delete_time`, `create_time`),
  KEY `cachedoutput_create_time` (`create_time`),
  KEY `cachedoutput_update_time` (`update_time`),
  KEY `cachedoutput_row_state` (`row_state`),
  KEY `cachedoutput_object_uid` (`object_uid`),
  KEY `cachedoutput_tombstone` (`row_state`, `namespace`, `name`, `create_time`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `cachedoutput_labels` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `obj_create_time` DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
  PRIMARY KEY (`obj_uid`, `key`),
  KEY `cachedoutput_labels_key_value` (`key`, `value`, `obj_create_time`, `obj_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `cachedoutput_annotations` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
