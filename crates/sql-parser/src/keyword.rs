//! The keyword table: which words the grammar knows, and which of them are reserved.
//!
//! Reserved words are MySQL 8.0's; of the others only those the parser asks for are here, any other word
//! is a plain identifier.

/// Declares [`Kw`] and the words in its order; reserved words come first.
macro_rules! keywords {
    (reserved { $($reserved:ident)* } free { $($free:ident)* }) => {
        /// A keyword, or `NONE` for anything else. The word `NONE` itself is `NONE_WORD`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[allow(dead_code, reason = "reserved words the grammar does not use")]
        #[repr(u16)]
        pub(crate) enum Kw {
            NONE,
            $($reserved,)*
            $($free,)*
            NONE_WORD,
        }

        const RESERVED: usize = [$(stringify!($reserved)),*].len();

        /// Every keyword with its spelling, in the order of their numbers.
        static ALL: &[(Kw, &str)] = &[
            (Kw::NONE, ""),
            $((Kw::$reserved, stringify!($reserved)),)*
            $((Kw::$free, stringify!($free)),)*
            (Kw::NONE_WORD, "NONE"),
        ];
    };
}

keywords! {
    reserved {
        ACCESSIBLE ADD ALL ALTER ANALYZE AND AS ASC ASENSITIVE BEFORE BETWEEN BIGINT BINARY
        BLOB BOTH BY CALL CASCADE CASE CHANGE CHAR CHARACTER CHECK COLLATE COLUMN CONDITION
        CONSTRAINT CONTINUE CONVERT CREATE CROSS CUBE CUME_DIST CURRENT_DATE CURRENT_TIME
        CURRENT_TIMESTAMP CURRENT_USER CURSOR DATABASE DATABASES DAY_HOUR DAY_MICROSECOND
        DAY_MINUTE DAY_SECOND DEC DECIMAL DECLARE DEFAULT DELAYED DELETE DENSE_RANK DESC
        DESCRIBE DETERMINISTIC DISTINCT DISTINCTROW DIV DOUBLE DROP DUAL EACH ELSE ELSEIF EMPTY
        ENCLOSED ESCAPED EXCEPT EXISTS EXIT EXPLAIN FALSE FETCH FIRST_VALUE FLOAT FLOAT4 FLOAT8
        FOR FORCE FOREIGN FROM FULLTEXT FUNCTION GENERATED GET GRANT GROUP GROUPING GROUPS
        HAVING HIGH_PRIORITY HOUR_MICROSECOND HOUR_MINUTE HOUR_SECOND IF IGNORE IN INDEX INFILE
        INNER INOUT INSENSITIVE INSERT INT INT1 INT2 INT3 INT4 INT8 INTEGER INTERSECT INTERVAL
        INTO IO_AFTER_GTIDS IO_BEFORE_GTIDS IS ITERATE JOIN JSON_TABLE KEY KEYS KILL LAG
        LAST_VALUE LATERAL LEAD LEADING LEAVE LEFT LIKE LIMIT LINEAR LINES LOAD LOCALTIME
        LOCALTIMESTAMP LOCK LONG LONGBLOB LONGTEXT LOOP LOW_PRIORITY MASTER_BIND
        MASTER_SSL_VERIFY_SERVER_CERT MATCH MAXVALUE MEDIUMBLOB MEDIUMINT MEDIUMTEXT MIDDLEINT
        MINUTE_MICROSECOND MINUTE_SECOND MOD MODIFIES NATURAL NOT NO_WRITE_TO_BINLOG NTH_VALUE
        NTILE NULL NUMERIC OF ON OPTIMIZE OPTIMIZER_COSTS OPTION OPTIONALLY OR ORDER OUT OUTER
        OUTFILE OVER PARTITION PERCENT_RANK PRECISION PRIMARY PROCEDURE PURGE RANGE RANK READ
        READS READ_WRITE REAL RECURSIVE REFERENCES REGEXP RELEASE RENAME REPEAT REPLACE REQUIRE
        RESIGNAL RESTRICT RETURN REVOKE RIGHT RLIKE ROW ROWS ROW_NUMBER SCHEMA SCHEMAS
        SECOND_MICROSECOND SELECT SENSITIVE SEPARATOR SET SHOW SIGNAL SMALLINT SPATIAL SPECIFIC
        SQL SQLEXCEPTION SQLSTATE SQLWARNING SQL_BIG_RESULT SQL_CALC_FOUND_ROWS
        SQL_SMALL_RESULT SSL STARTING STORED STRAIGHT_JOIN SYSTEM TABLE TERMINATED THEN
        TINYBLOB TINYINT TINYTEXT TO TRAILING TRIGGER TRUE UNDO UNION UNIQUE UNLOCK UNSIGNED
        UPDATE USAGE USE USING UTC_DATE UTC_TIME UTC_TIMESTAMP VALUES VARBINARY VARCHAR
        VARCHARACTER VARYING VIRTUAL WHEN WHERE WHILE WINDOW WITH WRITE XOR YEAR_MONTH ZEROFILL
    }
    free {
        ACCOUNT ACTION ADDDATE ADMIN AFTER AGAINST AGGREGATE ALGORITHM ALWAYS ANY ARRAY ASCII
        AT ATOMIC ATTRIBUTE AUTOEXTEND_SIZE AUTO_INCREMENT AVG AVG_ROW_LENGTH BACKUP BEGIN
        BINLOG BIT BIT_AND BIT_OR BIT_XOR BOOL BOOLEAN BTREE BUCKETS BYTE CACHE CASCADED CAST
        CHAIN CHANGED CHANNEL CHARSET CHECKSUM CIPHER CLONE CLOSE COALESCE CODE COLLATION
        COLUMNS COLUMN_FORMAT COMMENT COMMIT COMMITTED COMPLETION COMPRESSION CONCURRENT
        CONNECTION CONSISTENT CONTAINS COUNT CURDATE CURRENT CURTIME DATA DATE DATETIME
        DATE_ADD DATE_SUB DAY DEALLOCATE DEFINER DELAY_KEY_WRITE DIAGNOSTICS DIRECTORY DISABLE
        DISCARD DO DUMPFILE DUPLICATE ENABLE ENCRYPTION END ENDS ENFORCED ENGINE ENGINES
        ENGINE_ATTRIBUTE ENUM ERROR ERRORS ESCAPE EVENT EVENTS EVERY EXCHANGE EXCLUDE EXECUTE
        EXPANSION EXPIRE EXPORT EXTENDED EXTRACT FAILED_LOGIN_ATTEMPTS FAST FIELDS FILTER FIRST
        FIXED FLUSH FOLLOWING FOLLOWS FORMAT FOUND FULL GENERAL GEOMCOLLECTION GEOMETRY
        GEOMETRYCOLLECTION GET_FORMAT GLOBAL GRANTS GROUP_CONCAT GROUP_REPLICATION GTIDS
        HANDLER HASH HELP HISTOGRAM HISTORY HOSTS HOUR IDENTIFIED IMPORT INDEXES INSERT_METHOD
        INSTALL INSTANCE INVISIBLE INVOKER IO_THREAD ISOLATION ISSUER JSON JSON_ARRAYAGG
        JSON_OBJECTAGG JSON_VALUE KEY_BLOCK_SIZE LANGUAGE LAST LESS LEVEL LINESTRING LIST LOCAL
        LOCKED LOG LOGFILE LOGS MASTER MAX MAX_ROWS MEDIUM MEMBER MERGE MICROSECOND MID MIGRATE
        MIN MINUTE MIN_ROWS MODE MODIFY MONTH MULTILINESTRING MULTIPOINT MULTIPOLYGON MUTEX
        NAMES NATIONAL NCHAR NESTED NEVER NEXT NO NODEGROUP NOW NOWAIT NULLS NVARCHAR OFFSET
        OLD ONE ONLY OPEN OPTIONAL ORDINALITY OTHERS PACKAGE PACK_KEYS PARSER PARTITIONING
        PARTITIONS PASSWORD PASSWORD_LOCK_TIME PATH PERSIST PERSISTENT PERSIST_ONLY PHASE
        PLUGINS POINT POLYGON POSITION PRECEDES PRECEDING PREPARE PRESERVE PREV PRIVILEGES
        PROCESSLIST PROFILE PROFILES PROXY QUARTER QUERY QUICK RANDOM REBUILD RECOVER REFERENCE
        RELAY RELAYLOG RELAY_THREAD REMOVE REORGANIZE REPAIR REPEATABLE REPLICA REPLICAS
        REPLICATION RESET RESOURCE RESPECT RESTART RESUME RETAIN RETURNING RETURNS REUSE ROLE
        ROLLBACK ROLLUP ROW_FORMAT RTREE SAVEPOINT SCHEDULE SECOND SECONDARY SECONDARY_ENGINE
        SECONDARY_ENGINE_ATTRIBUTE SECURITY SERIAL SERIALIZABLE SERVER SESSION SHARE SHUTDOWN
        SIGNED SKIP SLAVE SLAVES SLOW SNAPSHOT SOME SONAME SOUNDS SOURCE SQL_BUFFER_RESULT
        SQL_NO_CACHE SQL_THREAD SQL_TSI_DAY SQL_TSI_HOUR SQL_TSI_MINUTE SQL_TSI_MONTH
        SQL_TSI_QUARTER SQL_TSI_SECOND SQL_TSI_WEEK SQL_TSI_YEAR SRID STACKED START STARTS
        STATS_AUTO_RECALC STATS_PERSISTENT STATS_SAMPLE_PAGES STATUS STD STDDEV STDDEV_POP
        STDDEV_SAMP STOP STORAGE ST_COLLECT SUBDATE SUBJECT SUBPARTITION SUBPARTITIONS SUBSTR
        SUBSTRING SUM SUSPEND SYSDATE TABLES TABLESPACE TABLE_CHECKSUM TEMPORARY TEMPTABLE TEXT
        THAN TIES TIME TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TRANSACTION TRIGGERS TRIM TRUNCATE
        TYPE UNBOUNDED UNCOMMITTED UNDEFINED UNICODE UNINSTALL UNKNOWN UNTIL UPGRADE USER
        USER_RESOURCES USE_FRM VALIDATION VALUE VARIABLES VARIANCE VAR_POP VAR_SAMP VIEW
        VISIBLE WARNINGS WEEK WEIGHT_STRING WITHOUT WORK X509 XA XID XML YEAR ZONE
    }
}

impl Kw {
    /// Whether the word cannot be an identifier without quotes.
    pub fn is_reserved(self) -> bool {
        let number = self as usize;
        number != 0 && number <= RESERVED
    }

    /// Whether the word is a function where its parenthesis follows at once (or under IGNORE_SPACE), and nothing else: the manual's
    /// section on function name parsing.
    pub fn is_function(self) -> bool {
        matches!(
            self,
            Kw::ADDDATE
                | Kw::BIT_AND
                | Kw::BIT_OR
                | Kw::BIT_XOR
                | Kw::CAST
                | Kw::COUNT
                | Kw::CURDATE
                | Kw::CURTIME
                | Kw::DATE_ADD
                | Kw::DATE_SUB
                | Kw::EXTRACT
                | Kw::GROUP_CONCAT
                | Kw::JSON_ARRAYAGG
                | Kw::JSON_OBJECTAGG
                | Kw::MAX
                | Kw::MID
                | Kw::MIN
                | Kw::NOW
                | Kw::POSITION
                | Kw::STD
                | Kw::STDDEV
                | Kw::STDDEV_POP
                | Kw::STDDEV_SAMP
                | Kw::SUBDATE
                | Kw::SUBSTR
                | Kw::SUBSTRING
                | Kw::SUM
                | Kw::SYSDATE
                | Kw::TRIM
                | Kw::VARIANCE
                | Kw::VAR_POP
                | Kw::VAR_SAMP
        )
    }
}

/// The reserved words, in the order of the alphabet.
pub fn reserved_words() -> impl Iterator<Item = &'static str> {
    ALL[1..=RESERVED].iter().map(|(_, word)| *word)
}

/// Slots of the hash table: a power of two with room to spare.
const SLOTS: usize = 4096;

/// Hash slot to keyword number, by linear probing; 0 is free.
static TABLE: [u16; SLOTS] = table();

const fn table() -> [u16; SLOTS] {
    let mut table = [0u16; SLOTS];
    let mut number = 1;
    while number < ALL.len() {
        let mut slot = hash(ALL[number].1.as_bytes());
        while table[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = number as u16;
        number += 1;
    }
    table
}

/// A hash of a word without regard to ASCII letter case (the case bit is masked out, which maps digits and
/// the underscore onto other characters consistently).
const fn hash(word: &[u8]) -> usize {
    let mut hash = word.len() as u32;
    let mut i = 0;
    while i < word.len() {
        hash = (hash ^ (word[i] & 0xDF) as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    (hash ^ hash >> 15) as usize % SLOTS
}

/// The keyword a word is.
pub(crate) fn lookup(word: &[u8]) -> Kw {
    let mut slot = hash(word);
    loop {
        let number = TABLE[slot];
        if number == 0 {
            return Kw::NONE;
        }
        let (kw, spelling) = ALL[usize::from(number)];
        if spelling.as_bytes().eq_ignore_ascii_case(word) {
            return kw;
        }
        slot = (slot + 1) % SLOTS;
    }
}

/// Whether `_name` introduces a literal in the character set `name`.
pub(crate) fn is_charset(name: &[u8]) -> bool {
    const CHARSETS: &[&str] = &[
        "utf8mb4", "binary", "latin1", "utf8", "utf8mb3", "ascii", "armscii8", "big5", "cp1250",
        "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932", "dec8", "eucjpms",
        "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8", "keybcs2",
        "koi8r", "koi8u", "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7",
        "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32",
    ];
    CHARSETS
        .iter()
        .any(|charset| charset.as_bytes().eq_ignore_ascii_case(name))
}
