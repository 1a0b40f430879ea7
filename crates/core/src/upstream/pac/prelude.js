// The functions that a proxy auto-configuration file can call, as in Netscape's "Navigator Proxy
// Auto-Config File Format" and in browsers, and the function that calls FindProxyForURL.
//
// `native` takes and returns texts, for everything that JavaScript can't do: 'addresses' (host name)
// and 'own' return lists of addresses separated by ';', 'within' (address, block) and 'sorted'
// (list) support addresses of both families, 'clock' returns the time in milliseconds, 'log' writes
// to the log. `evaluate` runs a text as a script.
(function (native, evaluate) {
  'use strict';

  var global = globalThis;

  var DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
  var MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];

  function word(value) {
    return String(value).toUpperCase();
  }

  // Host names.

  global.isPlainHostName = function (host) {
    return !/[.:]/.test(host);
  };

  global.dnsDomainIs = function (host, domain) {
    host = String(host);
    domain = String(domain);
    return host.length >= domain.length &&
      host.substring(host.length - domain.length) === domain;
  };

  global.localHostOrDomainIs = function (host, full) {
    return host === full || String(full).lastIndexOf(host + '.', 0) === 0;
  };

  global.dnsDomainLevels = function (host) {
    return String(host).split('.').length - 1;
  };

  // '*' matches any characters and '?' matches one. Steps instead of a regular expression, which
  // would take for ever with many stars.
  global.shExpMatch = function (text, pattern) {
    text = String(text);
    pattern = String(pattern);
    var t = 0, p = 0, star = -1, from = 0;
    while (t < text.length) {
      if (pattern.charAt(p) === '*') {
        star = p;
        p += 1;
        from = t;
      } else if (pattern.charAt(p) === '?' || pattern.charAt(p) === text.charAt(t)) {
        p += 1;
        t += 1;
      } else if (star >= 0) {
        // The last star matches one more character.
        from += 1;
        p = star + 1;
        t = from;
      } else {
        return false;
      }
    }
    while (pattern.charAt(p) === '*') {
      p += 1;
    }
    return p === pattern.length;
  };

  // Addresses: the functions without Ex support only IPv4.

  function bytes(address) {
    var parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(address);
    parts = parts && parts.slice(1).map(Number);
    var isOne = parts && parts.every(function (part) { return part <= 255; });
    return isOne ? parts : null;
  }

  function first(addresses) {
    var found = addresses.split(';').filter(bytes);
    return found.length > 0 ? found[0] : null;
  }

  function addresses(name) {
    return native('addresses', String(name));
  }

  global.dnsResolve = function (host) {
    return first(addresses(host));
  };

  global.isResolvable = function (host) {
    return global.dnsResolve(host) !== null;
  };

  global.myIpAddress = function () {
    return first(native('own')) || '127.0.0.1';
  };

  global.convert_addr = function (address) {
    var parts = bytes(address) || [0, 0, 0, 0];
    return parts[0] << 24 | parts[1] << 16 | parts[2] << 8 | parts[3];
  };

  global.isInNet = function (host, pattern, mask) {
    var address = bytes(host) ? host : global.dnsResolve(host);
    if (address === null || !bytes(pattern) || !bytes(mask)) {
      return false;
    }
    var bits = global.convert_addr(mask);
    return (global.convert_addr(address) & bits) === (global.convert_addr(pattern) & bits);
  };

  // Microsoft's functions, for both families.

  global.dnsResolveEx = function (host) {
    return addresses(host);
  };

  global.isResolvableEx = function (host) {
    return global.dnsResolveEx(host) !== '';
  };

  global.myIpAddressEx = function () {
    return native('own');
  };

  global.isInNetEx = function (address, block) {
    return native('within', String(address), String(block)) !== '';
  };

  global.sortIpAddressList = function (list) {
    return native('sorted', String(list)) || false;
  };

  global.getClientVersion = function () {
    return '1.0';
  };

  // Times. A last argument of 'GMT' means UTC, otherwise this machine's time zone.

  function asked(given) {
    var words = Array.prototype.slice.call(given);
    var isGmt = word(words[words.length - 1]) === 'GMT';
    if (isGmt) {
      words.pop();
    }
    var date = new Date(Number(native('clock')));
    function get(what) {
      return date[(isGmt ? 'getUTC' : 'get') + what]();
    }
    return { words: words, get: get };
  }

  // A range that ends before its beginning wraps around the end of the week, the year or the day.
  function isBetween(low, value, high) {
    return low <= high ? low <= value && value <= high : value >= low || value <= high;
  }

  global.weekdayRange = function () {
    var it = asked(arguments);
    var days = it.words.map(function (name) { return DAYS.indexOf(word(name)); });
    if (days.length < 1 || days.length > 2 || days.indexOf(-1) >= 0) {
      return false;
    }
    return isBetween(days[0], it.get('Day'), days[days.length - 1]);
  };

  // Returns one side of a range as a number, and the same parts of the current date as a number.
  function dateNumber(words, get) {
    var sum = 0, now = 0, ofYear = false;
    for (var i = 0; i < words.length; i += 1) {
      var month = MONTHS.indexOf(word(words[i])), number = Number(words[i]);
      if (month >= 0) {
        sum += month * 100;
        now += get('Month') * 100;
      } else if (number >= 1 && number <= 31) {
        sum += number;
        now += get('Date');
      } else if (number > 31) {
        sum += number * 10000;
        now += get('FullYear') * 10000;
        ofYear = true;
      } else {
        return null;
      }
    }
    return { sum: sum, now: now, ofYear: ofYear };
  }

  global.dateRange = function () {
    var it = asked(arguments), count = it.words.length;
    var half = count === 1 ? 1 : count / 2;
    if (count < 1 || count > 6 || half !== Math.floor(half)) {
      return false;
    }
    var low = dateNumber(it.words.slice(0, half), it.get);
    var high = dateNumber(it.words.slice(count - half), it.get);
    // Years don't repeat.
    if (!low || !high || low.now !== high.now || low.ofYear && low.sum > high.sum) {
      return false;
    }
    return isBetween(low.sum, low.now, high.sum);
  };

  // Compares to the finest given unit: the hour, the minute or the second. The range includes all
  // of its last unit.
  global.timeRange = function () {
    var it = asked(arguments), count = it.words.length;
    var half = count === 1 ? 1 : count / 2;
    if (count < 1 || count > 6 || half !== Math.floor(half)) {
      return false;
    }
    function timeNumber(parts) {
      return parts.reduce(function (sum, part) { return sum * 60 + Number(part); }, 0);
    }
    var now = [it.get('Hours'), it.get('Minutes'), it.get('Seconds')].slice(0, half);
    var low = timeNumber(it.words.slice(0, half)), high = timeNumber(it.words.slice(count - half));
    return isBetween(low, timeNumber(now), high);
  };

  global.alert = function (text) {
    native('log', String(text));
  };

  // Encodes a failure: '!' and its line (an answer begins with '='). Never throws, whatever a file
  // throws.
  function told(error) {
    try {
      // The engine throws null if there is no memory for an error.
      if (error === null) {
        return '!0 the script threw null, which can mean that it needs too much memory';
      }
      // The innermost position in the file, which is evaluated as 'input'; of its first line, the
      // engine shows no number.
      var place = /\binput(?::(\d+))?/.exec(error && error.stack);
      return '!' + (place ? place[1] || 1 : 0) + ' ' + error;
    } catch (again) {
      // There can be memory for an error, but none for its text.
      return '!0 the script threw an error without a text, which can mean that it needs too much memory';
    }
  }

  // As a name instead of a property of the global object, so that one made by `const` counts.
  function isDefined() {
    return typeof FindProxyForURL === 'function';
  }

  return function (what, text, host) {
    try {
      if (what === 'load') {
        evaluate(text);
        return isDefined() ? '=' : '!0 it defines no function FindProxyForURL(url, host)';
      }
      var answer = FindProxyForURL(text, host);
      if (answer === null) {
        return '=DIRECT';
      }
      return typeof answer === 'string' ? '=' + answer : '=';
    } catch (error) {
      return told(error);
    }
  };
})
