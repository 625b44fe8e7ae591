-- Generated from src/kinds/catalogue.ts by "npm run generate". Do not edit.
-- After the first release this file is frozen; later changes are migrations of their own.
-- minReader: 1
-- minWriter: 1
-- gate: open

CREATE TABLE IF NOT EXISTS `ingester_gate` (
  `id` TINYINT UNSIGNED NOT NULL,
  `closed_by` VARCHAR(253) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `reason` VARCHAR(1024) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `changed_at` DATETIME(6),
  `schema_version` INT UNSIGNED NOT NULL DEFAULT 0,
  `min_reader` INT UNSIGNED NOT NULL DEFAULT 0,
  `min_writer` INT UNSIGNED NOT NULL DEFAULT 0,
  `table_names` VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

INSERT IGNORE INTO `ingester_gate` (`id`) VALUES (1);

CREATE TABLE IF NOT EXISTS `ingester_positions` (
  `kind` VARCHAR(253) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `res_version` BIGINT UNSIGNED NOT NULL,
  `recorded_at` DATETIME(6) NOT NULL,
  PRIMARY KEY (`kind`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `project` (
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
  `tier` INT,
  PRIMARY KEY (`uid`),
  KEY `project_namespace_name` (`namespace`, `name`),
  KEY `project_namespace_timestamp` (`namespace`, `delete_time`, `create_time`),
  KEY `project_timestamp` (`delete_time`, `create_time`),
  KEY `project_create_time` (`create_time`),
  KEY `project_update_time` (`update_time`),
  KEY `project_row_state` (`row_state`),
  KEY `project_object_uid` (`object_uid`),
  KEY `project_tombstone` (`row_state`, `namespace`, `name`, `create_time`),
  KEY `project_tier` (`tier`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `project_labels` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `obj_create_time` DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
  PRIMARY KEY (`obj_uid`, `key`),
  KEY `project_labels_key_value` (`key`, `value`, `obj_create_time`, `obj_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `project_annotations` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `modelfamily` (
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
  `model_family_name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  PRIMARY KEY (`uid`),
  KEY `modelfamily_namespace_name` (`namespace`, `name`),
  KEY `modelfamily_namespace_timestamp` (`namespace`, `delete_time`, `create_time`),
  KEY `modelfamily_timestamp` (`delete_time`, `create_time`),
  KEY `modelfamily_create_time` (`create_time`),
  KEY `modelfamily_update_time` (`update_time`),
  KEY `modelfamily_row_state` (`row_state`),
  KEY `modelfamily_object_uid` (`object_uid`),
  KEY `modelfamily_tombstone` (`row_state`, `namespace`, `name`, `create_time`),
  KEY `modelfamily_model_family_name` (`model_family_name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `modelfamily_labels` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `obj_create_time` DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
  PRIMARY KEY (`obj_uid`, `key`),
  KEY `modelfamily_labels_key_value` (`key`, `value`, `obj_create_time`, `obj_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `modelfamily_annotations` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `model` (
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
  `src_pipeline_run_namespace` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `src_pipeline_run_name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `algorithm` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `training_framework` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `source` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `performance_eval_report_namespace` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `performance_eval_report_name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `feature_eval_report_namespace` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `feature_eval_report_name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `revision_id` INT,
  `owner` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `feature_quality_report_namespace` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `feature_quality_report_name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `model_family_namespace` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `model_family_name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `package_type` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `explainability_report_namespace` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `explainability_report_name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `description` VARCHAR(768) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `model_kind` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  PRIMARY KEY (`uid`),
  KEY `model_namespace_name` (`namespace`, `name`),
  KEY `model_namespace_timestamp` (`namespace`, `delete_time`, `create_time`),
  KEY `model_timestamp` (`delete_time`, `create_time`),
  KEY `model_create_time` (`create_time`),
  KEY `model_update_time` (`update_time`),
  KEY `model_row_state` (`row_state`),
  KEY `model_object_uid` (`object_uid`),
  KEY `model_tombstone` (`row_state`, `namespace`, `name`, `create_time`),
  KEY `model_src_pipeline_run` (`src_pipeline_run_namespace`, `src_pipeline_run_name`),
  KEY `model_algorithm` (`algorithm`),
  KEY `model_training_framework` (`training_framework`),
  KEY `model_source` (`source`),
  KEY `model_performance_eval_report` (`performance_eval_report_namespace`, `performance_eval_report_name`),
  KEY `model_feature_eval_report` (`feature_eval_report_namespace`, `feature_eval_report_name`),
  KEY `model_revision_id` (`revision_id`),
  KEY `model_owner` (`owner`),
  KEY `model_feature_quality_report` (`feature_quality_report_namespace`, `feature_quality_report_name`),
  KEY `model_model_family` (`model_family_namespace`, `model_family_name`),
  KEY `model_package_type` (`package_type`),
  KEY `model_explainability_report` (`explainability_report_namespace`, `explainability_report_name`),
  KEY `model_description` (`description`),
  KEY `model_model_kind` (`model_kind`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `model_labels` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `obj_create_time` DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
  PRIMARY KEY (`obj_uid`, `key`),
  KEY `model_labels_key_value` (`key`, `value`, `obj_create_time`, `obj_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `model_annotations` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `pipeline` (
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
  `pipeline_type` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `owner` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  PRIMARY KEY (`uid`),
  KEY `pipeline_namespace_name` (`namespace`, `name`),
  KEY `pipeline_namespace_timestamp` (`namespace`, `delete_time`, `create_time`),
  KEY `pipeline_timestamp` (`delete_time`, `create_time`),
  KEY `pipeline_create_time` (`create_time`),
  KEY `pipeline_update_time` (`update_time`),
  KEY `pipeline_row_state` (`row_state`),
  KEY `pipeline_object_uid` (`object_uid`),
  KEY `pipeline_tombstone` (`row_state`, `namespace`, `name`, `create_time`),
  KEY `pipeline_pipeline_type` (`pipeline_type`),
  KEY `pipeline_owner` (`owner`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `pipeline_labels` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `obj_create_time` DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
  PRIMARY KEY (`obj_uid`, `key`),
  KEY `pipeline_labels_key_value` (`key`, `value`, `obj_create_time`, `obj_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `pipeline_annotations` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `pipelinerun` (
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
  `pipeline_namespace` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `pipeline_name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `revision_namespace` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `revision_name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `state` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `end_time` DATETIME(6),
  `actor` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `exception_type` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `resume_pipeline_run_namespace` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `resume_pipeline_run_name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  PRIMARY KEY (`uid`),
  KEY `pipelinerun_namespace_name` (`namespace`, `name`),
  KEY `pipelinerun_namespace_timestamp` (`namespace`, `delete_time`, `create_time`),
  KEY `pipelinerun_timestamp` (`delete_time`, `create_time`),
  KEY `pipelinerun_create_time` (`create_time`),
  KEY `pipelinerun_update_time` (`update_time`),
  KEY `pipelinerun_row_state` (`row_state`),
  KEY `pipelinerun_object_uid` (`object_uid`),
  KEY `pipelinerun_tombstone` (`row_state`, `namespace`, `name`, `create_time`),
  KEY `pipelinerun_pipeline` (`pipeline_namespace`, `pipeline_name`),
  KEY `pipelinerun_revision` (`revision_namespace`, `revision_name`),
  KEY `pipelinerun_state` (`state`),
  KEY `pipelinerun_end_time` (`end_time`),
  KEY `pipelinerun_actor` (`actor`),
  KEY `pipelinerun_exception_type` (`exception_type`),
  KEY `pipelinerun_resume_pipeline_run` (`resume_pipeline_run_namespace`, `resume_pipeline_run_name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `pipelinerun_labels` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `obj_create_time` DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
  PRIMARY KEY (`obj_uid`, `key`),
  KEY `pipelinerun_labels_key_value` (`key`, `value`, `obj_create_time`, `obj_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `pipelinerun_annotations` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `inferenceserver` (
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
  `state` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  PRIMARY KEY (`uid`),
  KEY `inferenceserver_namespace_name` (`namespace`, `name`),
  KEY `inferenceserver_namespace_timestamp` (`namespace`, `delete_time`, `create_time`),
  KEY `inferenceserver_timestamp` (`delete_time`, `create_time`),
  KEY `inferenceserver_create_time` (`create_time`),
  KEY `inferenceserver_update_time` (`update_time`),
  KEY `inferenceserver_row_state` (`row_state`),
  KEY `inferenceserver_object_uid` (`object_uid`),
  KEY `inferenceserver_tombstone` (`row_state`, `namespace`, `name`, `create_time`),
  KEY `inferenceserver_state` (`state`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `inferenceserver_labels` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `obj_create_time` DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
  PRIMARY KEY (`obj_uid`, `key`),
  KEY `inferenceserver_labels_key_value` (`key`, `value`, `obj_create_time`, `obj_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `inferenceserver_annotations` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `revision` (
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
  `base_resource_namespace` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `base_resource_name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `base_type` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `owner` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `commit_branch` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `git_ref` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  PRIMARY KEY (`uid`),
  KEY `revision_namespace_name` (`namespace`, `name`),
  KEY `revision_namespace_timestamp` (`namespace`, `delete_time`, `create_time`),
  KEY `revision_timestamp` (`delete_time`, `create_time`),
  KEY `revision_create_time` (`create_time`),
  KEY `revision_update_time` (`update_time`),
  KEY `revision_row_state` (`row_state`),
  KEY `revision_object_uid` (`object_uid`),
  KEY `revision_tombstone` (`row_state`, `namespace`, `name`, `create_time`),
  KEY `revision_base_resource` (`base_resource_namespace`, `base_resource_name`),
  KEY `revision_base_type` (`base_type`),
  KEY `revision_owner` (`owner`),
  KEY `revision_commit_branch` (`commit_branch`),
  KEY `revision_git_ref` (`git_ref`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `revision_labels` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `obj_create_time` DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
  PRIMARY KEY (`obj_uid`, `key`),
  KEY `revision_labels_key_value` (`key`, `value`, `obj_create_time`, `obj_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `revision_annotations` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `cluster` (
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
  KEY `cluster_namespace_name` (`namespace`, `name`),
  KEY `cluster_namespace_timestamp` (`namespace`, `delete_time`, `create_time`),
  KEY `cluster_timestamp` (`delete_time`, `create_time`),
  KEY `cluster_create_time` (`create_time`),
  KEY `cluster_update_time` (`update_time`),
  KEY `cluster_row_state` (`row_state`),
  KEY `cluster_object_uid` (`object_uid`),
  KEY `cluster_tombstone` (`row_state`, `namespace`, `name`, `create_time`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `cluster_labels` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `obj_create_time` DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
  PRIMARY KEY (`obj_uid`, `key`),
  KEY `cluster_labels_key_value` (`key`, `value`, `obj_create_time`, `obj_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `cluster_annotations` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `raycluster` (
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
  KEY `raycluster_namespace_name` (`namespace`, `name`),
  KEY `raycluster_namespace_timestamp` (`namespace`, `delete_time`, `create_time`),
  KEY `raycluster_timestamp` (`delete_time`, `create_time`),
  KEY `raycluster_create_time` (`create_time`),
  KEY `raycluster_update_time` (`update_time`),
  KEY `raycluster_row_state` (`row_state`),
  KEY `raycluster_object_uid` (`object_uid`),
  KEY `raycluster_tombstone` (`row_state`, `namespace`, `name`, `create_time`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `raycluster_labels` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `obj_create_time` DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
  PRIMARY KEY (`obj_uid`, `key`),
  KEY `raycluster_labels_key_value` (`key`, `value`, `obj_create_time`, `obj_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `raycluster_annotations` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `rayjob` (
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
  KEY `rayjob_namespace_name` (`namespace`, `name`),
  KEY `rayjob_namespace_timestamp` (`namespace`, `delete_time`, `create_time`),
  KEY `rayjob_timestamp` (`delete_time`, `create_time`),
  KEY `rayjob_create_time` (`create_time`),
  KEY `rayjob_update_time` (`update_time`),
  KEY `rayjob_row_state` (`row_state`),
  KEY `rayjob_object_uid` (`object_uid`),
  KEY `rayjob_tombstone` (`row_state`, `namespace`, `name`, `create_time`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `rayjob_labels` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `obj_create_time` DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
  PRIMARY KEY (`obj_uid`, `key`),
  KEY `rayjob_labels_key_value` (`key`, `value`, `obj_create_time`, `obj_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `rayjob_annotations` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `sparkjob` (
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
  KEY `sparkjob_namespace_name` (`namespace`, `name`),
  KEY `sparkjob_namespace_timestamp` (`namespace`, `delete_time`, `create_time`),
  KEY `sparkjob_timestamp` (`delete_time`, `create_time`),
  KEY `sparkjob_create_time` (`create_time`),
  KEY `sparkjob_update_time` (`update_time`),
  KEY `sparkjob_row_state` (`row_state`),
  KEY `sparkjob_object_uid` (`object_uid`),
  KEY `sparkjob_tombstone` (`row_state`, `namespace`, `name`, `create_time`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `sparkjob_labels` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `obj_create_time` DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
  PRIMARY KEY (`obj_uid`, `key`),
  KEY `sparkjob_labels_key_value` (`key`, `value`, `obj_create_time`, `obj_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `sparkjob_annotations` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `triggerrun` (
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
  `pipeline_namespace` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `pipeline_name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `revision_namespace` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `revision_name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `state` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `auto_flip` BOOLEAN,
  PRIMARY KEY (`uid`),
  KEY `triggerrun_namespace_name` (`namespace`, `name`),
  KEY `triggerrun_namespace_timestamp` (`namespace`, `delete_time`, `create_time`),
  KEY `triggerrun_timestamp` (`delete_time`, `create_time`),
  KEY `triggerrun_create_time` (`create_time`),
  KEY `triggerrun_update_time` (`update_time`),
  KEY `triggerrun_row_state` (`row_state`),
  KEY `triggerrun_object_uid` (`object_uid`),
  KEY `triggerrun_tombstone` (`row_state`, `namespace`, `name`, `create_time`),
  KEY `triggerrun_pipeline` (`pipeline_namespace`, `pipeline_name`),
  KEY `triggerrun_revision` (`revision_namespace`, `revision_name`),
  KEY `triggerrun_state` (`state`),
  KEY `triggerrun_auto_flip` (`auto_flip`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `triggerrun_labels` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `obj_create_time` DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
  PRIMARY KEY (`obj_uid`, `key`),
  KEY `triggerrun_labels_key_value` (`key`, `value`, `obj_create_time`, `obj_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `triggerrun_annotations` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `deployment` (
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
  `current_revision_namespace` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `current_revision_name` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `state` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  `deletion_requested_timestamp` DATETIME(6),
  `target_definition_type` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  PRIMARY KEY (`uid`),
  KEY `deployment_namespace_name` (`namespace`, `name`),
  KEY `deployment_namespace_timestamp` (`namespace`, `delete_time`, `create_time`),
  KEY `deployment_timestamp` (`delete_time`, `create_time`),
  KEY `deployment_create_time` (`create_time`),
  KEY `deployment_update_time` (`update_time`),
  KEY `deployment_row_state` (`row_state`),
  KEY `deployment_object_uid` (`object_uid`),
  KEY `deployment_tombstone` (`row_state`, `namespace`, `name`, `create_time`),
  KEY `deployment_current_revision` (`current_revision_namespace`, `current_revision_name`),
  KEY `deployment_state` (`state`),
  KEY `deployment_deletion_requested_timestamp` (`deletion_requested_timestamp`),
  KEY `deployment_target_definition_type` (`target_definition_type`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `deployment_labels` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `obj_create_time` DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00.000000',
  PRIMARY KEY (`obj_uid`, `key`),
  KEY `deployment_labels_key_value` (`key`, `value`, `obj_create_time`, `obj_uid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS `deployment_annotations` (
  `obj_uid` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `key` VARCHAR(317) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `value` MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`obj_uid`, `key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
